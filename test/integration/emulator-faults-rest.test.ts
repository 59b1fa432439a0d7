import { expect, onTestFinished, test } from 'vitest'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/rules.ts'
import { createRestStage, type StageOptions } from './emulator-rest-stage.ts'

/** The REST service with faults. */
async function startFaulty(options: StageOptions = {}) {
  const faults = createFaults({ seed: 'rest' })
  const rest = await createRestStage({ ...options, faults })
  onTestFinished(() => rest[Symbol.asyncDispose]())
  return { rest, faults, exchanges: rest.exchanges, ask: rest.request }
}

const rule = (fault: FaultRuleInput['fault'], more: object = {}) =>
  faultRuleSchema.parse({ direction: 'in', fault, ...more } as FaultRuleInput)

test('2.8 R12 latency delays the response on the wall clock, as latency_ms shows', async () => {
  const { rest, faults, ask } = await startFaulty()
  faults.add(rule({ kind: 'latency', ms: 1_500 }))
  let isDone = false
  const asked = ask('/v1/networks')
  void asked.then(() => (isDone = true))
  const startedAt = rest.wall.now()
  while (rest.wall.nextTimerAt() === null) await new Promise((resolve) => setImmediate(resolve))
  expect(rest.wall.nextTimerAt()).toBe(startedAt + 1_500)
  await rest.wall.advance(1_499)
  expect(isDone).toBe(false)
  await rest.wall.advance(1)
  expect((await asked).body).toMatchObject({ success: true, meta: { latency_ms: 1_500 } })
})

test('R66 R70 R110 R117 A54 faults apply to requests under /v1 with a valid key within its own limit, which counts them', async () => {
  const { rest, faults, ask, exchanges } = await startFaulty({ plan: 'free' })
  faults.add(rule({ kind: 'error-500' }))
  const statusOf = async (path: string, key?: string) => (await ask(path, key === undefined ? {} : { key })).status
  expect(await statusOf('/v1/networks', 'sk_unknown')).toBe(401)
  expect(await statusOf('/elsewhere')).toBe(404)
  expect(await statusOf('/v1/nothing')).toBe(500)
  const key = rest.newKey()
  for (let left = 9; left >= 0; left--) {
    const { status, headers } = await ask('/v1/networks', { key })
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([500, String(left)])
  }
  const rejected = await ask('/v1/networks', { key })
  expect(rejected.status).toBe(429)
  expect(rejected.body.error.message).toContain('within a minute')
  expect(exchanges.map((one) => one.faults?.join() ?? null).filter((names) => names === null)).toHaveLength(3)
  expect(faults.rules()[0]?.struck).toBe(11)
})
