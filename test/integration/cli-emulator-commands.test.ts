import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { linesOf, startSteered, type Steered } from './cli-emulator-run.ts'
import { answerStatus } from './emulator-receiver.ts'
import { testSeed } from './emulator-stage.ts'

/** A world without activity. */
const quiet = { seed: testSeed({ world: { seed: 'test', history: '0s', activity: 0 } }) }
const day = 24 * 3_600_000

/** Triggers events of these types, and waits until they have arrived. */
async function trigger({ stage, receiver }: Steered, ...types: readonly string[]): Promise<void> {
  const before = receiver.requests.length
  for (const type of types) await stage.control('POST', '/trigger', { type })
  await receiver.received(before + types.length)
}

test('R81 advance moves a manual clock and counts the deliveries of that time', async () => {
  await using steered = await startSteered((index) => ({ status: index === 0 ? 500 : 200 }), quiet)
  await trigger(steered, 'contract.ownership_changed')
  expect(linesOf(await steered.run('emulator advance 59s --json'))).toEqual([
    {
      msg: 'advanced',
      ms: 59_000,
      clock: { mode: 'manual', speed: 0, now: '2026-01-01T00:00:59.000Z' },
      attempts: 0,
      acknowledged: 0,
      failed: 0,
      duplicates: 0,
      undelivered: 0,
      cancelled: 0,
      pending: 1,
    },
  ])
  expect(await steered.run('emulator advance 2s')).toMatchObject({
    code: 0,
    errors: '',
    out: 'advanced by 2s to 2026-01-01T00:01:01.000Z\n1 attempt: 1 acknowledged, 0 failed, 0 duplicates; 0 undelivered, 0 pending now\n',
  })
  expect((await steered.run('emulator advance 3h')).out).toMatch(/^advanced by 3h to 2026-01-01T03:01:01\.000Z\n/)
})

test('A46 replay sends an undelivered event again, or counts and replays all with --since', async () => {
  let status = 500
  await using steered = await startSteered(() => ({ status }), quiet)
  await trigger(steered, 'contract.ownership_changed', 'wallet.large_trade', 'contract.ownership_changed')
  await steered.stage.emulator.advance(day / 2)
  status = 200
  const line = 'emulator replay --type contract.ownership_changed --since'
  const [recent, counted, unknown] = await Promise.all([
    steered.run(`${line} 1h --dry-run --json`),
    steered.run(`${line} 24h --dry-run`),
    steered.run('emulator replay dlv_none'),
  ])
  expect(linesOf(recent)).toEqual([{ msg: 'counted', since: '2026-01-01T11:00:00.000Z', matched: 0, replayed: 0 }])
  expect(counted).toEqual({ code: 0, out: '2 deliveries would be replayed\n', errors: '' })
  expect(unknown).toMatchObject({ code: 1, errors: expect.stringMatching(/^not_found: /) })

  const path = '/deliveries?state=undelivered&type=wallet.large_trade'
  const { data } = (await steered.stage.control('GET', path)).json as { data: { deliveryId: string }[] }
  const sent = steered.receiver.requests.length
  const id = data[0]?.deliveryId
  const single = await steered.run(`emulator replay ${id} --json`)
  expect(single).toMatchObject({ code: 0, errors: '' })
  expect(linesOf(single)).toMatchObject([{ msg: 'delivery', eventType: 'wallet.large_trade', isReplay: true }])
  const misused = await steered.run(`emulator replay ${id} --dry-run`)
  expect(misused.errors).toMatch(/^usage: expected either the id of a delivery, or --since/)
  await steered.receiver.received(sent + 1)

  const replayed = await steered.run(`${line} 2026-01-01T00:00:00Z`)
  expect(replayed).toMatchObject({ code: 0, out: '2 deliveries replayed; `emulator tail` shows their attempts\n' })
  await steered.receiver.received(sent + 3)
})

test('R76, A32 secret draws or sets the secret of a webhook, which signs the next attempt', async () => {
  await using steered = await startSteered(answerStatus(200), quiet)
  const { webhookId } = ((await steered.stage.control('GET', '/webhooks')).json.data as { webhookId: string }[])[0]!
  const isSignedBy = async (secret: string) => {
    await trigger(steered, 'contract.ownership_changed')
    const { body, headers } = steered.receiver.requests.at(-1)!
    return headers['x-service-signature'] === createHmac('sha256', secret).update(body).digest('hex')
  }
  const { code, out } = await steered.run(`emulator secret ${webhookId}`)
  const [, drawn = ''] = /^(whsec_[\w-]{32}) {2}\(of wh_\w+, http:\S+; shown once\)\n$/.exec(out) ?? []
  expect([code, await isSignedBy(drawn)]).toEqual([0, true])
  const set = await steered.run(`emulator secret ${webhookId} --set env:MINE --json`, {
    MINE: 'whsec_of-the-user-0001',
  })
  expect(linesOf(set)).toEqual([{ msg: 'secret', webhookId, url: steered.receiver.url }])
  expect(await isSignedBy('whsec_of-the-user-0001')).toBe(true)
})
