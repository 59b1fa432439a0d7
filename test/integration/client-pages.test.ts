import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient, type Trade } from '../../src/client/index.ts'
import { createLogger } from '../../src/base/log.ts'
import { apiKey } from './emulator-stage.ts'
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

test('R122 while new trades come, each that was there at the first page comes exactly once', async () => {
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

test('R120 nothing is asked before it is iterated, no page beyond the one that is needed, and a cursor leads on', async () => {
  const { address, network } = openWallet(stage, 4)
  const trades = stage.api.listWalletTrades({ address, network, limit: 1 })
  expect(stage.asked()).toEqual([])
  for await (const _ of trades) break
  expect(stage.asked()).toHaveLength(1)
  const { meta } = await trades.page()
  const rest = await all(stage.api.listWalletTrades({ address, network, limit: 1, cursor: meta.next_cursor ?? '' }))
  expect(rest).toHaveLength(3)
  // Each iteration asks anew.
  expect([await all(trades), await all(trades)].map(({ length }) => length)).toEqual([4, 4])
})

test('2.8 a next_cursor that leads back is an error, after each item has come once', async () => {
  const { address, network } = openWallet(stage, 4)
  await stage.fault({ kind: 'cursor-loop' })
  const seen: string[] = []
  const walk = async () => {
    for await (const { tx_hash } of stage.api.listWalletTrades({ address, network, limit: 1 })) seen.push(tx_hash)
  }
  await expect(walk()).rejects.toMatchObject({ name: 'ApiProtocolError', code: 'cursor_repeated' })
  expect(new Set(seen).size).toBe(2)
  expect(seen).toHaveLength(2)
})

test('2.8 a next_cursor that is missing though more items exist ends the list, with a warning', async () => {
  const { address, network } = openWallet(stage, 4)
  const lines: string[] = []
  const log = createLogger({ level: 'warn', pretty: false, output: { write: (line) => void lines.push(line) } })
  await stage.fault({ kind: 'cursor-missing' })
  expect(await all(stage.client({ log }).listWalletTrades({ address, network, limit: 3 }))).toHaveLength(3)
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ msg: 'the list ended early', announced: 4 }])
})

const pageOf = (data: readonly number[], meta: object) => Response.json({ success: true, data, meta })
const scripted = (...pages: readonly Response[]) => {
  const left = [...pages]
  return createClient({
    baseUrl: 'https://service.test',
    apiKey,
    retries: 0,
    fetch: async () => left.shift() ?? Response.error(),
  }).listAlerts() as AsyncIterable<unknown>
}

test('R120 an empty page need not be the last, and null, absent and no meta at all are', async () => {
  const first = pageOf([], { next_cursor: 'a' })
  expect(await all(scripted(first, pageOf([1], { next_cursor: 'b' }), pageOf([2], { next_cursor: null })))).toEqual([
    1, 2,
  ])
  expect(await all(scripted(pageOf([1], {})))).toEqual([1])
  expect(await all(scripted(Response.json({ success: true, data: [3] })))).toEqual([3])
})
