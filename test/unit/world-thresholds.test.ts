import { describe, expect, it } from 'vitest'
import { collectEvents, dataOf, hourMs, minuteMs, openWorld } from '../support/world.ts'

describe('a world in which little happens', () => {
  const quiet = (options = {}) => openWorld('quiet', { activity: 0, ...options })

  it('A68 does not list what graduates where that is switched off', () => {
    const world = quiet({ graduationAlsoLists: false })
    const events = collectEvents(world)
    world.acts.apply({ kind: 'graduate' })
    world.advanceTo(world.now() + minuteMs)
    expect(dataOf(events, 'pump.graduation')).toHaveLength(1)
    expect(dataOf(events, 'token.new_listing')).toEqual([])
  })

  it('R94 tells a listing with the liquidity that it began with', () => {
    const world = quiet()
    const events = collectEvents(world)
    const { token } = world.acts.apply({
      kind: 'list',
      network: 'bnb',
      symbol: 'ABC',
      name: 'A B C',
      liquidityUsd: 25_000,
    })
    world.acts.apply({ kind: 'rug', network: 'bnb', token: String(token), percent: 50 })
    world.advanceTo(world.now() + 5000)
    expect(dataOf(events, 'token.new_listing')).toMatchObject([
      { token_address: token, initial_liquidity_usd: 25_000, symbol: 'ABC' },
    ])
  })

  it('R100 A39 tells of a removal from a fifth on, or from 10,000 USD on, and of no smaller one', () => {
    const world = quiet()
    const events = collectEvents(world)
    const listed = (liquidityUsd: number) => {
      const { token } = world.acts.apply({ kind: 'list', network: 'base', symbol: 'ABC', name: 'A B C', liquidityUsd })
      return String(token)
    }
    const removals = [
      [listed(20_000), 19.99],
      [listed(20_000), 20],
      [listed(500_000), 1.99],
      [listed(500_000), 2.01],
    ] as const
    for (const [token, percent] of removals) world.acts.apply({ kind: 'rug', network: 'base', token, percent })
    const told = dataOf(events, 'contract.liquidity_removed').map(({ liquidity_removed_pct }) => liquidity_removed_pct)
    expect(told).toEqual([20, 2.01])
  })

  it('R98 A35 tells of gains and of losses, each once, and at once of all that were crossed together', () => {
    const world = quiet()
    world.acts.apply({ kind: 'thresholds', milestonesUsd: [500, 1000, 2000] })
    const events = collectEvents(world)
    const [token] = world.views.tokens()
    const { network, address } = token!
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    world.acts.apply({ kind: 'track', network, wallet, isTracked: true })
    const round = (percent: number) => {
      world.acts.apply({ kind: 'trade', network, wallet, side: 'buy', token: address, usd: 10_000 })
      world.acts.apply({ kind: 'price-move', network, token: address, percent })
      world.acts.apply({ kind: 'trade', network, wallet, side: 'sell', token: address, fraction: 1 })
    }
    round(20)
    expect(dataOf(events, 'wallet.pnl_milestone').map((data) => data.milestone_usd)).toEqual([500, 1000])
    round(20)
    expect(dataOf(events, 'wallet.pnl_milestone').map((data) => data.milestone_usd)).toEqual([500, 1000, 2000])
    for (let n = 0; n < 4; n++) round(-30)
    expect(dataOf(events, 'wallet.pnl_milestone').map((data) => data.milestone_usd)).toEqual([
      500, 1000, 2000, -500, -1000, -2000,
    ])
    for (let n = 0; n < 6; n++) round(40)
    expect(dataOf(events, 'wallet.pnl_milestone')).toHaveLength(6)
  })

  it('R98 tells no milestone that was passed before anybody watched, however small the next sale', () => {
    const world = quiet()
    const events = collectEvents(world)
    const { network, address: token } = world.views.tokens()[0]!
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    const trade = (side: 'buy' | 'sell', parts: object) =>
      world.acts.apply({ kind: 'trade', network, wallet, side, token, ...parts })
    const gain = () => {
      trade('buy', { usd: 20_000 })
      world.acts.apply({ kind: 'price-move', network, token, percent: 25 })
      trade('sell', { fraction: 1 })
    }
    gain()
    world.acts.apply({ kind: 'track', network, wallet, isTracked: true })
    trade('buy', { usd: 10 })
    trade('sell', { fraction: 1 })
    expect(dataOf(events, 'wallet.pnl_milestone')).toEqual([])
    gain()
    expect(dataOf(events, 'wallet.pnl_milestone').map((data) => data.milestone_usd)).toEqual([5000])
  })

  it('R26 R98 judges a milestone when a position closes, at the rate of that moment', () => {
    const world = quiet()
    const events = collectEvents(world)
    const { network, address: token } = world.views.tokens()[0]!
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    world.acts.apply({ kind: 'track', network, wallet, isTracked: true })
    const trade = (side: 'buy' | 'sell', parts: object) =>
      world.acts.apply({ kind: 'trade', network, wallet, side, token, ...parts })
    const realized = () => world.views.pnl(world.views.findWallet(network, wallet)!, 'all').pnl.realized_usd
    trade('buy', { usd: 9000 })
    world.acts.apply({ kind: 'price-move', network, token, percent: 90 })
    trade('sell', { fraction: 1 })
    const closedWith = realized()
    while (realized() < closedWith * 1.01) world.advanceTo(world.now() + hourMs)
    // The gain passes this line by the rate of its coin alone.
    const line = Math.round(closedWith * 1.002)
    world.acts.apply({ kind: 'thresholds', milestonesUsd: [line] })
    trade('buy', { usd: 20 })
    trade('sell', { fraction: 0.5 })
    expect(dataOf(events, 'wallet.pnl_milestone').map((data) => data.milestone_usd)).not.toContain(line)
    trade('sell', { fraction: 1 })
    const last = dataOf(events, 'wallet.pnl_milestone').at(-1)
    expect(last).toMatchObject({ milestone_usd: line, realized_pnl_usd: realized() })
  })

  it('a token is never younger than its first trade', () => {
    const world = quiet()
    world.advanceTo(world.now() + 7001)
    const listed = { kind: 'list', network: 'ethereum', symbol: 'A', name: 'A', liquidityUsd: 25_000 } as const
    const token = String(world.acts.apply(listed)['token'])
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    world.acts.apply({ kind: 'trade', network: 'ethereum', wallet, side: 'buy', token, usd: 100 })
    const { created_at } = world.views.token(world.views.findToken('ethereum', token)!)
    const { first_active } = world.views.overview(world.views.findWallet('ethereum', wallet)!)
    expect(first_active >= created_at).toBe(true)
  })

  it('R96 tells of trades above the threshold, and of tracked wallets only', () => {
    const world = quiet()
    const events = collectEvents(world)
    const [token] = world.views.tokens()
    const { network, address } = token!
    const [wallet, other] = ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359']
    world.acts.apply({ kind: 'track', network, wallet, isTracked: true })
    const buy = (who: string, usd: number) =>
      world.acts.apply({ kind: 'trade', network, wallet: who, side: 'buy', token: address, usd })
    buy(wallet, 10_000)
    buy(wallet, 10_000.01)
    buy(other, 50_000)
    expect(dataOf(events, 'wallet.large_trade')).toMatchObject([
      { wallet_address: wallet, trade_type: 'buy', amount_usd: 10_000.01 },
    ])
    world.acts.apply({ kind: 'track', network, wallet, isTracked: false })
    buy(wallet, 20_000)
    expect(dataOf(events, 'wallet.large_trade')).toHaveLength(1)
  })

  it('R47 A18 has networks of every status, and shows what was set last', () => {
    const world = quiet()
    for (const status of ['degraded', 'maintenance', 'operational'] as const) {
      world.acts.apply({ kind: 'network-status', network: 'base', status })
      world.advanceTo(world.now() + hourMs)
      expect(world.views.networkStatus('base')).toBe(status)
      expect(world.views.networkStatus('bnb')).toBe('operational')
    }
  })
})
