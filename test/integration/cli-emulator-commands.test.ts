import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ControlClient, DeliveriesQuery } from '../../src/cli/control-client.ts'
import { replayAll } from '../../src/cli/emulator-replay.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { linesOf, startSteered } from './cli-emulator-run.ts'
import { testSeed } from './emulator-stage.ts'

/** Nobody does anything by himself. */
const quiet = { seed: testSeed({ world: { seed: 'test', history: '0s', activity: 0 } }) }

/** The secrets under which the last request is signed, of these. */
function signedBy(
  { body, headers }: { body: Buffer; headers: object } | undefined = { body: Buffer.of(), headers: {} },
) {
  const signature = (headers as Record<string, string>)['x-service-signature']
  return (secret: string) => createHmac('sha256', secret).update(body).digest('hex') === signature
}

test('R81 advance moves a manual clock on and says what was delivered meanwhile: the retry after 60 s', async () => {
  await using steered = await startSteered(
    (response, _, index) => response.writeHead(index === 0 ? 500 : 200).end(),
    quiet,
  )
  await steered.stage.control('POST', '/trigger', { type: 'contract.ownership_changed' })
  await steered.receiver.received(1)
  const early = await steered.run('emulator advance 59s --json')
  expect(linesOf(early)).toEqual([
    {
      msg: 'advanced',
      ms: 59_000,
      clock: { mode: 'manual', speed: 0, now: '2026-01-01T00:00:59.000Z' },
      attempts: 0,
      acknowledged: 0,
      failed: 0,
      undelivered: 0,
      cancelled: 0,
      pending: 1,
    },
  ])
  expect(await steered.run('emulator advance 2s')).toMatchObject({
    code: 0,
    errors: '',
    out: 'advanced by 2s to 2026-01-01T00:01:01.000Z\n1 attempt: 1 acknowledged, 0 failed; 0 undelivered, 0 pending now\n',
  })
  expect((await steered.run('emulator advance 3h')).out).toMatch(/^advanced by 3h to 2026-01-01T03:01:01\.000Z\n/)
})

test('A46 replay sends the same bytes under the same id once more, and ends with what became of it', async () => {
  await using steered = await startSteered(
    (response, _, index) => response.writeHead(index < 6 ? 500 : 200).end(),
    quiet,
  )
  await steered.stage.control('POST', '/trigger', { type: 'contract.ownership_changed' })
  await steered.receiver.received(1)
  await steered.stage.emulator.advance(12 * 3_600_000)
  expect(steered.receiver.requests).toHaveLength(6)
  const [undelivered] = (await steered.stage.control('GET', '/deliveries?state=undelivered')).json.data as {
    deliveryId: string
  }[]
  const replayed = await steered.run(`emulator replay ${undelivered?.deliveryId} --json`)
  expect(replayed).toMatchObject({ code: 0, errors: '' })
  expect(linesOf(replayed)).toMatchObject([{ msg: 'delivery', state: 'acknowledged', isReplay: true, attempts: 1 }])
  const [first, ...others] = steered.receiver.requests.map(({ body }) => body.toString())
  expect(others).toHaveLength(6)
  expect(new Set(others)).toEqual(new Set([first]))
  expect(await steered.run('emulator replay dlv_none')).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/^not_found: /),
  })
})

test('A46 replay --since counts, and where nobody can be asked does nothing without --yes', async () => {
  let status = 500
  await using steered = await startSteered((response) => response.writeHead(status).end(), quiet)
  for (const type of ['contract.ownership_changed', 'wallet.large_trade', 'contract.ownership_changed']) {
    await steered.stage.control('POST', '/trigger', { type })
  }
  await steered.receiver.received(3)
  await steered.stage.emulator.advance(12 * 3_600_000)
  status = 200
  const line = 'emulator replay --type contract.ownership_changed --since'
  const [recent, counted, unsaid] = await Promise.all([
    steered.run(`${line} 1h --dry-run --json`),
    steered.run(`${line} 24h --dry-run`),
    steered.run(`${line} 2026-01-01T00:00:00Z`),
  ])
  expect(linesOf(recent)).toEqual([{ msg: 'counted', since: '2026-01-01T11:00:00.000Z', matched: 0, replayed: 0 }])
  expect(counted).toEqual({ code: 0, out: '2 deliveries would be replayed\n', errors: '' })
  expect(unsaid).toEqual({
    code: 1,
    out: '',
    errors: 'usage: 2 deliveries would be replayed: add --yes to replay them, or --dry-run to count only\n',
  })
  const sent = steered.receiver.requests.length
  const replayed = await steered.run(`${line} 24h --yes`)
  expect(replayed.code).toBe(0)
  expect(replayed.out).toMatch(
    /^2 deliveries replayed\n(?:contract\.ownership_changed +evt_\w{26} {2}200 {2}acknowledged {2}http:\S+\n){2}2 acknowledged, 0 not\n$/,
  )
  const types = steered.receiver.requests
    .slice(sent)
    .map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
  expect(types).toEqual(['contract.ownership_changed', 'contract.ownership_changed'])
})

test('A46 what matches is replayed by as many requests as it takes, those that fail again at once not for ever', async () => {
  const known = ['dlv_000000000001']
  const calls: number[] = []
  const client = {
    deliveries: async ({ limit, after = 'dlv_x' }: DeliveriesQuery) =>
      known
        .toReversed()
        .filter((deliveryId) => deliveryId < after)
        .slice(0, limit)
        .map((deliveryId) => ({ deliveryId, isReplay: deliveryId !== known[0] })),
    async replayAll() {
      const replayed = calls.length === 2 ? 500 : 1_000
      calls.push(replayed)
      for (let left = replayed; left > 0; left--) known.push(`dlv_${String(known.length + 1).padStart(12, '0')}`)
      return { matched: 2_500, replayed }
    },
  } as unknown as ControlClient
  const replays = await replayAll(client, { since: '2026-01-01T00:00:00Z' })
  expect(calls).toEqual([1_000, 1_000, 500])
  expect(replays.map(({ deliveryId }) => deliveryId)).toEqual(known.slice(1))
})

test('R76, A32 secret gives a webhook another one, shown once, and the next attempt is signed with it', async () => {
  await using steered = await startSteered(
    (response, _, index) => response.writeHead(index === 0 ? 500 : 200).end(),
    quiet,
  )
  await using dir = await createTempDir()
  const [webhook] = (await steered.stage.control('GET', '/webhooks')).json.data as { webhookId: string }[]
  await steered.stage.control('POST', '/trigger', { type: 'contract.ownership_changed' })
  await steered.receiver.received(1)
  const { code, out } = await steered.run(`emulator secret ${webhook?.webhookId}`)
  const [, drawn = ''] = /^(whsec_[\w-]{32}) {2}\(of wh_\w+, http:\S+; shown once\)\n$/.exec(out) ?? []
  expect([code, drawn.length]).toEqual([0, 38])
  await steered.stage.emulator.advance(60_000)
  expect(signedBy(steered.receiver.requests[1])(drawn)).toBe(true)

  await writeFile(join(dir.path, 'mine'), 'whsec_one-of-my-own-0001\n')
  const set = await steered.run(`emulator secret ${webhook?.webhookId} --set @${join(dir.path, 'mine')} --json`)
  expect(linesOf(set)).toEqual([{ msg: 'secret', webhookId: webhook?.webhookId, url: steered.receiver.url }])
  await steered.stage.control('POST', '/trigger', { type: 'contract.ownership_changed' })
  await steered.receiver.received(3)
  expect(signedBy(steered.receiver.requests[2])('whsec_one-of-my-own-0001')).toBe(true)
})
