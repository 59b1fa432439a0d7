import { describe, expect, it } from 'vitest'
import type { WorldOptions } from '../../src/emulator/world/port.ts'
import { otherWallet, asOfNow, quietWorld, newWallet } from '../support/world.ts'

/** A quiet world and its events of large trades. */
function watch(options: Partial<WorldOptions> = {}) {
  const quiet = quietWorld('watched trades', options)
  const { world, events, refOf } = quiet
  return {
    ...quiet,
    overview: (wallet = newWallet) => world.views.overview(refOf(wallet)),
    newest: () => world.views.trades(refOf(), { limit: 1, after: null, asOf: asOfNow(world) }, null).items[0]!,
    alerts: () =>
      events.flatMap(({ event, alertIds, audience }) =>
        event.type === 'wallet.large_trade' ? [{ ...event.data, alertIds: alertIds.join(), audience }] : [],
      ),
  }
}

describe('an alert on the trades of a wallet', () => {
  it('A15 A41 R42 fires for a purchase of exactly the threshold by an untracked wallet, for its URL only', () => {
    const { alert, buy, alerts, first, newest } = watch()
    alert('alrt_1', 'whale_buy', newWallet, 7000)
    buy(6999.99)
    buy(7000, { wallet: otherWallet })
    expect(alerts()).toEqual([])
    buy(7000)
    const { tx_hash, token_out } = newest()
    expect(alerts()).toEqual([
      {
        wallet_address: newWallet,
        network: 'ethereum',
        trade_type: 'buy',
        token_address: first,
        token_symbol: token_out.symbol,
        amount_usd: 7000,
        tx_hash,
        alertIds: 'alrt_1',
        audience: 'alerts',
      },
    ])
  })

  it('A15 fires for a sale of exactly its threshold, and not for a cent less', () => {
    const { world, alert, buy, sell, alerts, newest } = watch()
    buy(7000)
    const before = world.snapshot()
    sell()
    const brought = newest().token_out.value_usd
    world.restore(before)
    alert('alrt_buy', 'whale_buy', newWallet, 1)
    alert('alrt_cent', 'whale_sell', newWallet, brought + 0.01)
    alert('alrt_1', 'whale_sell', newWallet, brought)
    sell()
    expect(alerts()).toMatchObject([{ trade_type: 'sell', amount_usd: brought, alertIds: 'alrt_1' }])
  })

  it('A15 A42 a swap is both a purchase and a sale in one event', () => {
    const { alert, buy, swap, alerts, second, newest } = watch()
    buy(7000)
    alert('alrt_sell', 'whale_sell', newWallet, 5000)
    alert('alrt_buy', 'whale_buy', newWallet, 5000)
    swap()
    expect(alerts()).toMatchObject([{ trade_type: 'swap', token_address: second, alertIds: 'alrt_sell,alrt_buy' }])
    expect(alerts()[0]?.amount_usd).toBe(newest().token_in.value_usd)
  })

  it('A42 R96 shares one event with the large trade of a tracked wallet', () => {
    const { alert, buy, track, alerts } = watch()
    track()
    buy(20_000)
    alert('alrt_1', 'whale_buy', newWallet, 5000)
    alert('alrt_2', 'whale_buy', newWallet, 20_000)
    buy(20_000)
    buy(7000)
    expect(alerts()).toMatchObject([
      { amount_usd: 20_000, alertIds: '', audience: 'all' },
      { amount_usd: 20_000, alertIds: 'alrt_1,alrt_2', audience: 'all' },
      { amount_usd: 7000, alertIds: 'alrt_1', audience: 'alerts' },
    ])
  })

  it('A17 fires once if one-shot', () => {
    const { alert, buy, alerts } = watch()
    alert('alrt_once', 'whale_buy', newWallet, 1000, true)
    buy(900)
    buy(1000)
    buy(3000)
    alert('alrt_all', 'whale_buy', newWallet, 1000)
    buy(4000)
    expect(alerts().map(({ amount_usd, alertIds }) => [amount_usd, alertIds])).toEqual([
      [1000, 'alrt_once'],
      [4000, 'alrt_all'],
    ])
  })
})

describe('an alert on the trades of a token', () => {
  it('A15 A5 fires for purchases by whales, the one that makes a whale included', () => {
    const { alert, buy, alerts, first, second, overview } = watch({ whaleUsd: 50_000, whaleSupplyPct: 100 })
    alert('alrt_1', 'whale_buy', first, 7000)
    buy(7000)
    expect([overview().is_whale, alerts().length]).toEqual([false, 0])
    buy(60_000, { token: second })
    expect([overview().is_whale, alerts().length]).toEqual([true, 0])
    buy(6999.99)
    expect(alerts()).toEqual([])
    buy(7000)
    buy(60_000, { wallet: otherWallet })
    expect(alerts().map((data) => [data.wallet_address, data.amount_usd])).toEqual([
      [newWallet, 7000],
      [otherWallet, 60_000],
    ])
    expect(overview(otherWallet).is_whale).toBe(true)
  })

  it('A15 A5 fires for the sale of a whale that sells everything', () => {
    const { alert, buy, sell, alerts, first, overview } = watch({ whaleUsd: 50_000, whaleSupplyPct: 100 })
    alert('alrt_buy', 'whale_buy', first, 1000)
    alert('alrt_1', 'whale_sell', first, 1000)
    buy(40_000, { wallet: otherWallet })
    sell(1, { wallet: otherWallet })
    expect(alerts()).toEqual([])
    buy(60_000)
    sell()
    expect(overview().is_whale).toBe(false)
    expect(alerts().map(({ trade_type, alertIds }) => [trade_type, alertIds])).toEqual([
      ['buy', 'alrt_buy'],
      ['sell', 'alrt_1'],
    ])
  })

  it('A15 a swap is a sale of one token and a purchase of the other', () => {
    const { alert, buy, swap, alerts, first, second } = watch({ whaleUsd: 5000 })
    buy(7000)
    alert('alrt_a', 'whale_buy', first, 1000)
    alert('alrt_b', 'whale_sell', first, 1000)
    alert('alrt_c', 'whale_buy', second, 1000)
    alert('alrt_d', 'whale_sell', second, 1000)
    swap()
    expect(alerts()).toMatchObject([{ trade_type: 'swap', alertIds: 'alrt_b,alrt_c' }])
  })
})
