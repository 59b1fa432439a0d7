import { networkIds, type NetworkId } from '../../../schema/index.ts'
import { habits } from './agents.ts'
import { createListedToken } from './token-birth.ts'
import { coinsForUsd, newStream, plan, walletAt, type Core } from './core.ts'
import { addressFor, fund, openWallet } from './wallets.ts'
import { coins, openingPricesUsd, type Coin } from './networks.ts'
import { establishedNames } from './names.ts'
import { archetypes, type Archetype } from './port.ts'
import type { CoinState, DailyStory, NetworkState, WorldState } from './state.ts'
import { planDaily, storiesPerDay } from './stories.ts'

/** Of these, the first of each network is tracked from the beginning. */
const trackedArchetypes: readonly Archetype[] = ['whale', 'sniper', 'momentum', 'dip']
const defaultRules = { largeTradeUsd: 10_000, milestonesUsd: [1000, 5000, 25_000, 100_000], riskSensitivity: 10 }
const hourMs = 3_600_000

/** A world in which nothing is yet. */
export function emptyState(startAt: number, activity: number): WorldState {
  return {
    now: startAt,
    seq: 0,
    planned: 0,
    activity,
    coins: Object.fromEntries(coins.map((coin) => [coin, openingOf(coin)])) as Record<Coin, CoinState>,
    networks: Object.fromEntries(
      networkIds.map((network) => [network, { status: 'operational', minted: 0n, elsewhere: 0n }]),
    ) as Record<NetworkId, NetworkState>,
    tokens: [],
    openedMarkets: [],
    wallets: [],
    holdings: [],
    agenda: [],
    alerts: [],
    rules: { ...defaultRules },
    log: [],
    events: [],
    streams: { stories: newStream('stories'), names: newStream('names'), acts: newStream('acts') },
  }
}

function openingOf(coin: Coin): CoinState {
  const price = BigInt(Math.round(openingPricesUsd[coin] * 1e8))
  return { price, stream: newStream(`coin:${coin}`), prices: [price] }
}

/** Tokens that are older than the world, wallets with their budgets, and what is planned. */
export function populate(core: Core): void {
  plan(core, { kind: 'minute' }, 60_000, false)
  for (const network of networkIds) {
    for (const [symbol, name] of establishedNames[network]) establish(core, network, symbol, name)
    for (const archetype of archetypes) settle(core, network, archetype)
  }
  for (const story of Object.keys(storiesPerDay) as DailyStory[]) planDaily(core, story, 0)
}

function establish(core: Core, network: NetworkId, symbol: string, name: string): void {
  const stream = newStream(`established:${network}:${symbol}`)
  createListedToken(core, {
    network,
    symbol,
    name,
    liquidityUsd: core.chance.between(stream, 600_000, 6_000_000),
    allocationPct: core.chance.integer(stream, 40, 80),
    isAnnounced: false,
    contract: { isLiquidityLocked: core.chance.uniform(stream) < 0.7, isProxy: core.chance.uniform(stream) < 0.3 },
  })
}

function settle(core: Core, network: NetworkId, archetype: Archetype): void {
  const { count, budgetUsd, wakeMs } = habits[archetype]
  for (let n = 1; n <= count; n++) {
    const wallet = openWallet(core, network, addressFor(core, network, `${archetype}:${n}`), archetype)
    const owner = walletAt(core, wallet)
    owner.isTracked = n === 1 && trackedArchetypes.includes(archetype)
    fund(core, wallet, coinsForUsd(core, network, core.chance.between(owner.stream, ...budgetUsd)))
    if (archetype === 'bot') core.directory.bots[network].push(wallet)
    // Everybody has bought something within the first hours.
    const firstWakeMs = core.chance.uniform(owner.stream) * Math.min(wakeMs ?? 0, 3 * hourMs)
    if (wakeMs !== null) plan(core, { kind: 'wake', wallet }, firstWakeMs)
  }
}
