import { expect, test } from 'vitest'
import { linesOf, startSteered } from './cli-emulator-run.ts'
import { answerStatus } from './emulator-receiver.ts'

test('with --rate events come in time of the world: of a clock that stands still, as it is advanced', async () => {
  await using steered = await startSteered(answerStatus(200))
  using trigger = steered.start('trigger contract.ownership_changed -n 3 --rate 1 --json')
  await steered.receiver.received(1)
  await steered.stage.emulator.advance(999)
  const early = steered.receiver.requests.length
  await steered.stage.emulator.advance(60_000)
  const result = await trigger.ended
  expect([early, result.code]).toEqual([1, 0])
  expect(linesOf(result).at(-1)).toMatchObject({ events: 3, acknowledged: 3, notMade: 0 })
  const ids = linesOf(result).flatMap(({ msg, eventId }) => (msg === 'event' ? [eventId] : []))
  const { data } = (await steered.stage.control('GET', '/events?type=contract.ownership_changed&limit=1000')).json as {
    data: { event: { id: string; created_at: string } }[]
  }
  const times = data.filter(({ event }) => ids.includes(event.id)).map(({ event }) => event.created_at.slice(17))
  expect(times).toEqual(['00.000Z', '01.000Z', '02.000Z'])
})

test('with --rate raw events are followed too, as the clock runs by itself', async () => {
  await using steered = await startSteered(answerStatus(200))
  await steered.stage.control('POST', '/clock', { mode: 'scaled', speed: 60 })
  const result = await steered.run('trigger wallet.large_trade -n 3 --rate 10 --set data.amount_usd=7 --json')
  expect(result.code).toBe(0)
  const ids = linesOf(result).flatMap(({ msg, eventId }) => (msg === 'event' ? [eventId] : []))
  const raw = steered.receiver.requests
    .map(({ body }) => JSON.parse(body.toString()) as { id: string; data: { amount_usd?: number } })
    .filter(({ data }) => data.amount_usd === 7)
  expect([ids.length, new Set(ids)]).toEqual([3, new Set(raw.map(({ id }) => id))])
})

test('with --rate and a clock that stands still trigger ends after --timeout, and says how many are not made: exit code 1', async () => {
  await using steered = await startSteered(answerStatus(200))
  const { code, out } = await steered.run('trigger contract.ownership_changed -n 3 --rate 1 --timeout 0.5')
  expect(code).toBe(1)
  expect(out).toMatch(/\n1 acknowledged, 0 not, 2 not made yet: its clock must move on\n$/)
  await using lonely = await startSteered(answerStatus(200), { endpoints: [] })
  const nobody = await lonely.run('trigger wallet.large_trade -n 3 --rate 1 --set data.amount_usd=7')
  expect([nobody.code, nobody.out]).toEqual([1, expect.stringMatching(/0 acknowledged, 0 not, 3 sent to nobody/)])
})
