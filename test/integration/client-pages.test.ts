import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient, type Trade } from '../../src/client/index.ts'
import { apiKey } from './emulator-stage.ts'
import { recordingLog } from '../support/recording-log.ts'
import { all, openWallet, startClientStage, type ClientStage } from './client-stage.ts'

let stage: ClientStage
beforeAll(async () => {
  stage = await startClientStage()
})
afterEach(async () => {
  await stage.heal()
  stage.asked()
})
afterAll(() => stage[Symbol.asyncDispose]())

test('R122 returns each trade of the first page request exactly once, while new trades arrive', async () => {
  const { address, network, buy } = openWallet(stage, 6)
  const known = (await all(stage.api.listWalletTrades({ address, network, limit: 100 }))).map(({ tx_hash }) => tx_hash)
  let bought = 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 5 }),
      fc.array(fc.nat(3), { minLength: 1 }),
      async (limit, purchases) => {
        const seen: string[] = []
        let page = 0
        for await (const { data } of stage.api.listWalletTrades({ address, network, limit }).pages()) {
          seen.push(...data.map(({ tx_hash }: Trade) => tx_hash))
          const count = purchases[page++ % purchases.length] ?? 0
          for (let left = Math.min(count, 15 - bought); left > 0; left--) buy(bought++)
        }
        expect(new Set(seen).size).toBe(seen.length)
        expect(known.filter((hash) => !seen.includes(hash))).toEqual([])
      },
    ),
    { numRuns: 10, examples: [[2, [1]]] },
  )
  expect(bought).toBeGreaterThan(0)
})

test('R120 requests no page before it is needed, continues at a cursor, and starts over with each iteration', async () => {
  const { address, network } = openWallet(stage, 4)
  const trades = stage.api.listWalletTrades({ address, network, limit: 1 })
  expect(stage.asked()).toEqual([])
  for await (const _ of trades) break
  expect(stage.asked()).toHaveLength(1)
  const { meta } = await trades.page()
  const rest = await all(stage.api.listWalletTrades({ address, network, limit: 1, cursor: meta.next_cursor ?? '' }))
  expect(rest).toHaveLength(3)
  expect([await all(trades), await all(trades)].map(({ length }) => length)).toEqual([4, 4])
})

test('2.8 a repeated next_cursor is an error after each item was returned once', async () => {
  const { address, network } = openWallet(stage, 4)
  await stage.fault({ kind: 'cursor-loop' })
  const seen: string[] = []
  const walk = async () => {
    for await (const { tx_hash } of stage.api.listWalletTrades({ address, network, limit: 1 })) seen.push(tx_hash)
  }
  await expect(walk()).rejects.toMatchObject({ code: 'cursor_repeated' })
  expect([seen.length, new Set(seen).size]).toEqual([2, 2])
})

test('2.8 a missing next_cursor ends the list early, with a warning', async () => {
  const { address, network } = openWallet(stage, 4)
  const { log, lines } = recordingLog()
  await stage.fault({ kind: 'cursor-missing' })
  expect(await all(stage.client({ log }).listWalletTrades({ address, network, limit: 3 }))).toHaveLength(3)
  expect(lines).toMatchObject([{ message: 'list ended early', fields: { announced: 4 } }])
})

test.each([
  [
    [[[], { next_cursor: 'a' }] as const, [[1], { next_cursor: 'b' }] as const, [[2], { next_cursor: null }] as const],
    [1, 2],
  ],
  [[[[1], {}] as const], [1]],
  [[[[3], undefined] as const], [3]],
])('R120 an empty page may have a next page; null, no cursor or no meta ends the list: %j', async (pages, expected) => {
  const left = [...pages]
  const fetch = async () => {
    const [data, meta] = left.shift() ?? []
    return Response.json({ success: true, data, meta })
  }
  const api = createClient({ baseUrl: 'https://service.test', apiKey, retries: 0, fetch })
  expect(await all(api.listAlerts() as AsyncIterable<unknown>)).toEqual(expected)
})
