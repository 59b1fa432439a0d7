import { afterAll, beforeAll, expect, test } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import type { Trade, WorldEvent } from '../../src/emulator/world/port.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 24 })
})
afterAll(() => stage[Symbol.asyncDispose]())

async function everyTrade(from: RestStage, path: string, query: string): Promise<readonly Trade[]> {
  const trades: Trade[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const { data, meta } = await from.get(`${path}/trades?${query}&limit=100${cursor && `&cursor=${cursor}`}`)
    trades.push(...data)
    cursor = meta.next_cursor
  }
  return trades
}

test('R28 R29 a trade has exactly its eight fields, of their types, and is a buy, a sell or a swap', async () => {
  const side = {
    address: expect.any(String),
    symbol: expect.any(String),
    amount: expect.any(Number),
    value_usd: expect.any(Number),
  }
  for (const network of networkIds) {
    const { path, query } = busiestWallet(stage, network)
    const { data, meta } = await stage.get(`${path}/trades?${query}`)
    for (const trade of data) {
      expect(trade).toEqual({
        tx_hash: expect.stringMatching(network === 'solana' ? /^[1-9A-HJ-NP-Za-km-z]{87,88}$/ : /^0x[0-9a-f]{64}$/),
        type: expect.stringMatching(/^(buy|sell|swap)$/),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        token_in: side,
        token_out: side,
        dex: expect.stringMatching(/./),
        fee_usd: expect.any(Number),
        price_impact_pct: expect.any(Number),
      })
      expect(trade.timestamp <= meta.timestamp).toBe(true)
      expect(trade.price_impact_pct, 'at most 4 decimals').toBe(Number(trade.price_impact_pct.toFixed(4)))
    }
  }
})

test('R29 all three types of trades are reachable', async () => {
  const wallet = `0x${'b1'.repeat(20)}`
  const [from, to] = stage.world.views.tokens().filter(({ network }) => network === 'ethereum')
  const named = { network: 'ethereum', wallet } as const
  const [one, other] = [from?.address ?? '', to?.address ?? '']
  stage.world.acts.apply({ kind: 'trade', ...named, side: 'buy', token: one, usd: 900 })
  stage.world.acts.apply({ kind: 'swap', ...named, from: one, to: other })
  stage.world.acts.apply({ kind: 'trade', ...named, side: 'sell', token: other, fraction: 1 })
  const { data } = await stage.get(`/v1/wallets/${wallet}/trades?network=ethereum`)
  expect(data.map(({ type }: Trade) => type)).toEqual(['sell', 'swap', 'buy'])
  expect([data[1].token_in.address, data[1].token_out.address]).toEqual([one, other])
})

test('R55 A21 trades come newest first, each once, over all pages', async () => {
  const { path, query, tradeCount } = busiestWallet(stage, 'solana')
  const trades = await everyTrade(stage, path, query)
  const times = trades.map(({ timestamp }) => timestamp)
  expect(times).toEqual(times.toSorted().toReversed())
  expect(tradeCount).toBeGreaterThan(100)
  expect(new Set(trades.map(({ tx_hash }) => tx_hash)).size).toBe(tradeCount)
})

test('A21 trades can come in an order that is none, the same ones on the same pages', async () => {
  await using shuffled = await createRestStage({ hours: 24, settings: { tradesOrder: 'shuffled' } })
  const { path, query } = busiestWallet(stage, 'solana')
  const inOrder = await everyTrade(stage, path, query)
  const mixed = await everyTrade(shuffled, path, query)
  expect(mixed.map(({ tx_hash }) => tx_hash)).not.toEqual(inOrder.map(({ tx_hash }) => tx_hash))
  const byHash = (a: Trade, b: Trade) => (a.tx_hash < b.tx_hash ? -1 : 1)
  expect(mixed.slice(0, 100).toSorted(byHash)).toEqual(inOrder.slice(0, 100).toSorted(byHash))
  expect(await everyTrade(shuffled, path, query)).toEqual(mixed)
})

test('R56 R121 with token only trades with it in or out are given, and total counts these', async () => {
  for (const network of ['ethereum', 'solana']) {
    const { path, query } = busiestWallet(stage, network)
    const all = await everyTrade(stage, path, query)
    const tokens = new Set(all.flatMap(({ token_in, token_out }) => [token_in.address, token_out.address]))
    for (const token of tokens) {
      const wanted = all.filter(({ token_in, token_out }) => [token_in.address, token_out.address].includes(token))
      expect(await everyTrade(stage, path, `${query}&token=${token}`)).toEqual(wanted)
      const given = network === 'solana' ? token : token.toLowerCase()
      const { meta } = await stage.get(`${path}/trades?${query}&limit=1&token=${given}`)
      expect(meta.total).toBe(wanted.length)
    }
  }
  const { path, query } = busiestWallet(stage, 'ethereum')
  const { data, meta } = await stage.get(`${path}/trades?${query}&token=${unseen.evm}`)
  expect([data, meta.total, meta.next_cursor]).toEqual([[], 0, null])
})

test('R105 the tx_hash of each event of a wallet is found in its trades, with the same numbers', async () => {
  const pick = (events: readonly WorldEvent[]) =>
    events.flatMap(({ event }) => {
      if (event.type !== 'wallet.large_trade' && event.type !== 'wallet.new_position') return []
      return [event]
    })
  const events = pick(stage.world.eventsAfter(0, 1_000_000)).slice(-40)
  expect(new Set(events.map(({ type }) => type)).size).toBe(2)
  for (const { type, data } of events) {
    const { wallet_address, network, token_address, token_symbol, tx_hash, amount_usd } = data
    const path = `/v1/wallets/${wallet_address}`
    const trades = await everyTrade(stage, path, `network=${network}&token=${token_address}`)
    const found = trades.find((trade) => trade.tx_hash === tx_hash)
    if (found === undefined) throw new Error(`${type}: ${tx_hash} is in no page of ${path}`)
    const sides = [found.token_in, found.token_out]
    expect(sides.find(({ address }) => address === token_address)?.symbol).toBe(token_symbol)
    expect(sides.map(({ value_usd }) => value_usd)).toContain(amount_usd)
    if (type === 'wallet.large_trade') expect(found.type).toBe(data.trade_type)
  }
})
