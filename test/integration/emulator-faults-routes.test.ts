import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStage, type Stage } from './emulator-stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
beforeEach(async () => {
  await stage.control('DELETE', '/faults')
})
afterAll(() => stage[Symbol.asyncDispose]())

test('2.8 rules are added, listed with how often they struck, and removed', async () => {
  const rule = { direction: 'in', fault: { kind: 'error-503', retryAfterS: 3 }, path: '/v1/networks', times: 1 }
  const added = await stage.control('POST', '/faults', rule)
  expect([added.status, added.json.data]).toEqual([201, { id: 'flt_1', rule, struck: 0 }])
  const { json: second } = await stage.control('POST', '/faults', { direction: 'out', fault: { kind: 'tamper' } })

  expect((await stage.rest('/networks')).status).toBe(503)
  expect((await stage.rest('/networks')).status).toBe(200)
  expect((await stage.control('GET', '/faults')).json.data).toEqual([{ id: 'flt_1', rule, struck: 1 }, second.data])
  const { json: journal } = await stage.control('GET', '/journal?path=/v1/networks&status=503')
  expect(journal.data).toMatchObject([{ faults: ['error-503'] }])

  const removed = await stage.control('DELETE', '/faults/flt_1')
  expect([removed.status, removed.json.data]).toEqual([200, { id: 'flt_1', deleted: true }])
  const gone = await stage.control('DELETE', '/faults/flt_1')
  expect([gone.status, gone.json.error.code]).toEqual([404, 'not_found'])
  expect((await stage.control('DELETE', '/faults')).json.data).toEqual({ deleted: 1 })
  expect((await stage.control('GET', '/faults')).json.data).toEqual([])
})

test('2.8 a scenario replaces all rules and does its acts', async () => {
  const { json: list } = await stage.control('GET', '/scenarios')
  expect(list.data.map(({ name }: { name: string }) => name)).toEqual([
    'calm',
    'busy-day',
    'rug-pull',
    'retry-storm',
    'hostile-sender',
    'outage',
  ])
  await stage.control('POST', '/clock/advance', { ms: 3_600_000 })
  for (const { name, about } of list.data) {
    expect(about).toMatch(/\.$/)
    const { status, json } = await stage.control('POST', '/scenarios', { name })
    expect(status).toBe(200)
    expect(json.data).toMatchObject({ name, acts: name === 'rug-pull' ? 3 : 1 })
    expect((await stage.control('GET', '/faults')).json.data).toEqual(json.data.rules)
    expect(json.data.rules.length > 0).toBe(name !== 'calm')
    await stage.control('POST', '/faults', { direction: 'out', fault: { kind: 'tamper' } })
  }
  const wrong = await stage.control('POST', '/scenarios', { name: 'storm' })
  expect([wrong.status, wrong.json.error.message]).toEqual([
    400,
    'name: expected one of calm, busy-day, rug-pull, retry-storm, hostile-sender, outage; got "storm"',
  ])
})
