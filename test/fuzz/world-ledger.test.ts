import { expect, it } from 'vitest'
import { eventTypes, type NetworkId } from '../../schema/index.ts'
import { WorldRefusal, type Position, type WalletRef, type World } from '../../src/emulator/world/port.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import { ledgerProblems } from '../support/world-ledger.ts'
import { openWorld, readAll, readLedger, startAt, type WorldLedger } from '../support/world.ts'

/** Amounts are shown with 15 digits; their sums are off by a little more. */
const tolerance = 1e-9

/** Replays the trades of a wallet: finds sales of units that its portfolio did not show, and units that nothing explains. */
function ofWallet(world: World, { state, log }: WorldLedger, wallet: WalletRef, positions: readonly Position[]) {
  const { views } = world
  const rows = log.ofWallet(wallet.index)
  const traded = new Map<string, number>()
  const book = (token: string, amount: number) => traded.set(token, (traded.get(token) ?? 0) + amount)
  const trades = readAll(world, (page) => views.trades(wallet, page, null)).toReversed()
  const sales = trades.flatMap(({ type, token_in: sold, token_out: bought, timestamp, tx_hash }, index) => {
    const before = traded.get(sold.address) ?? 0
    if (type !== 'buy') book(sold.address, -sold.amount)
    if (type !== 'sell') book(bought.address, bought.amount)
    if (type === 'buy' || sold.amount <= before * (1 + tolerance)) return []
    const asOf = { at: Date.parse(timestamp), seq: rows.at(index)!.seq - 1 }
    const { items } = views.portfolio(wallet, { limit: 100, after: null, asOf })
    const shown = items.find(({ token_address }) => token_address === sold.address)?.balance ?? 0
    return shown >= sold.amount ? [] : [`${tx_hash} sells ${sold.amount} ${sold.symbol} of ${shown}`]
  })
  const balances = positions.flatMap(({ token_address, symbol, balance }) => {
    const token = views.findToken(wallet.network, token_address)
    const gap = balance - (traded.get(token_address) ?? 0)
    // The allocation of the creator, and liquidity that it took out.
    const isCreator = token !== null && state.tokens[token.index]?.creator === wallet.index
    const isExplained = Math.abs(gap) <= balance * tolerance || (isCreator && gap > 0)
    return isExplained ? [] : [`${wallet.address} holds ${balance} ${symbol}, its trades give ${balance - gap}`]
  })
  return [...sales, ...balances]
}

/** What REST shows of a world that is not explained by its trades, allocations and removed liquidity. */
function unexplained(world: World): readonly string[] {
  const { views } = world
  const ledger = readLedger(world)
  const holders = new Map<string, number[]>()
  const ofWallets = views.wallets().flatMap(({ network, address }) => {
    const wallet = views.findWallet(network, address)
    if (wallet === null) return []
    const positions = readAll(world, (page) => views.portfolio(wallet, page))
    for (const { token_address, balance } of positions) {
      const place = `${network}:${token_address}`
      holders.set(place, [...(holders.get(place) ?? []), balance])
    }
    return ofWallet(world, ledger, wallet, positions)
  })
  const ofTokens = views.tokens().flatMap((ref) => {
    // Half of the liquidity is tokens. What a bonding curve keeps is not shown.
    if (ledger.state.tokens[ref.index]?.pool === null) return []
    const { symbol, price_usd, liquidity_usd, market_cap_usd: supply, holder_count } = views.token(ref)
    const held = holders.get(`${ref.network}:${ref.address}`) ?? []
    const sum = held.reduce((whole, balance) => whole + balance * price_usd, liquidity_usd / 2)
    const isWhole = Math.abs(sum - supply) <= 0.02 + supply * tolerance && held.length === holder_count
    return isWhole ? [] : [`${symbol}: ${sum} of ${supply} USD, ${held.length} of ${holder_count} holders`]
  })
  const ofEvents = world.eventsAfter(0, Infinity).flatMap(({ event: { type, data } }) => {
    const named = Object.entries(data).filter(([name]) => /wallet_address|_owner$/.test(name))
    return named.flatMap(([name, address]) => {
      const wallet = views.findWallet((data as { network: NetworkId }).network, String(address))
      if (wallet === null) return [`${name} of ${type} is unknown`]
      return views.overview(wallet).first_active <= views.overview(wallet).last_active ? [] : [`${name} of ${type}`]
    })
  })
  return [...ofWallets, ...ofTokens, ...ofEvents]
}

const { ledgerWorlds, ledgerMs } = worldCounts

it(
  `R19 R22 R52 R105 every unit that is sold was shown before, and balances and pools are the supply (${ledgerWorlds} seeds)`,
  { timeout: 3_600_000 },
  () => {
    for (const seed of worldSeeds(ledgerWorlds)) {
      const world = openWorld(seed)
      world.advanceTo(startAt + ledgerMs)
      expect(unexplained(world), seed).toEqual([])
      for (const type of eventTypes) {
        if (type !== 'token.price_alert') world.acts.apply({ kind: 'trigger', type })
      }
      for (const { network, address } of world.views.tokens().slice(-9)) {
        try {
          world.acts.apply({ kind: 'price-move', network, token: address, percent: -30 })
          world.acts.apply({ kind: 'rug', network, token: address, percent: 40 })
        } catch (error) {
          if (!(error instanceof WorldRefusal)) throw error
        }
      }
      expect(unexplained(world), seed).toEqual([])
      expect(ledgerProblems(world), seed).toEqual([])
    }
  },
)
