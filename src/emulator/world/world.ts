import { createHash } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import { z } from 'zod'
import { takeDue } from '../sorted-list.ts'
import { applyCommand } from './commands.ts'
import { buyAsPlanned, habits, makeMarket, retire, wake } from './agents.ts'
import { checkAllPriceAlerts, checkRestedAlert } from './alerts.ts'
import { createChance } from '../random.ts'
import {
  type Core,
  coinsForUsd,
  eventsAfter,
  minActivity,
  newStream,
  plan,
  tokenAt,
  walletAt,
  createDirectory,
} from './core.ts'
import { auditContract } from './rules.ts'
import { executeSellAll } from './trading.ts'
import { toTxHash } from './addresses.ts'
import { type Coin, coins, openingPricesUsd } from './networks.ts'
import {
  type Archetype,
  type WorldCommand,
  type WorldEvent,
  type WorldOptions,
  type WorldSnapshot,
  worldSettings,
  archetypes,
} from './port.ts'
import type { CoinState, DailyStory, NetworkState, Task, WorldState } from './state.ts'
import { continueCrash, continueLaunch, continueScam, planDailyStory, storiesPerDay, runDailyStory } from './stories.ts'
import { announce, createListedToken } from './token-creation.ts'
import { TradeLog } from './trade-log.ts'
import { createViews } from './views.ts'
import { type NetworkId, networkIds } from '../../../schema/index.ts'
import { addressFor, fund, openWallet } from './wallets.ts'
import { establishedNames } from './names.ts'
import { hourMs, minuteMs } from '../../base/clock.ts'

export type World = ReturnType<typeof createWorld>

/**
 * A simulated world of seven networks in which wallets trade tokens. All events arise from this discrete-event
 * simulation, and REST reads all data here, so events and REST can't disagree. The same options and commands at the
 * same moments give the same world, byte for byte.
 *
 * Times are milliseconds since 1970 of world time. Numbers are ready for display: USD from 1 up to the cent, prices
 * with 12 significant digits, amounts of tokens with at most 15 (A16).
 *
 * @example
 * const world = createWorld({ seed: 'demo', startAt: Date.UTC(2026, 0, 1) })
 * world.onEvent(({ event }) => console.log(event.type))
 * world.advanceTo(world.now() + 3_600_000)
 */
export function createWorld(options: WorldOptions) {
  const full = { ...options, ...z.object(worldSettings).parse(options) }
  const state = emptyState(full.startAt, Math.max(full.activity, minActivity))
  const core: Core = {
    options: full,
    chance: createChance(full.seed),
    txHash: (network, seq) => toTxHash(network, full.seed, seq),
    state,
    trades: new TradeLog(),
    directory: createDirectory(state),
    pendingMilestones: null,
    listeners: new Set(),
  }
  populate(core)

  return {
    /** Present world time: all tasks due up to it have run. */
    now: () => core.state.now,
    /** Number of changes. Data seen at `seq` can be read again as of it. */
    seq: () => core.state.seq,
    /** When the next task is due; null if none. */
    nextAt: () => core.state.agenda[0]?.at ?? null,
    /** Runs all tasks due up to `at`, in order. An earlier moment has no effect. */
    advanceTo: (at: number) => runUntil(core, Math.floor(at)),
    /** Calls `fn` for each event as it arises, during `advanceTo` and during commands. Returns an unsubscribe function. */
    onEvent(fn: (event: WorldEvent) => void): () => void {
      core.listeners.add(fn)
      return () => void core.listeners.delete(fn)
    },
    /** Events after `after` (an event's `seq`), oldest first. */
    eventsAfter: (after: number, limit: number) => eventsAfter(core, after, limit),
    /** The number of the newest event; 0 if there is none. */
    lastEvent: () => core.state.events.length,
    /** Hex SHA-256 of the whole state: equal states have equal digests (R7). */
    digest: () => digestOf(core),
    views: createViews(core),
    /** Commands from outside, applied at the present moment. */
    commands: {
      /** Applies a command. Throws `WorldRefusal`. */
      apply: (command: WorldCommand) => applyCommand(core, command),
    },
    /** The whole state, to restore in a world of the same options. `restore(snapshot())` changes nothing. */
    snapshot: () => takeSnapshot(core),
    restore: (snapshot: WorldSnapshot) => restoreSnapshot(core, snapshot),
  }
}

function takeSnapshot({ state, trades }: Core): WorldSnapshot {
  return { state: serialize(state), trades: trades.portions() }
}

function restoreSnapshot(core: Core, { state, trades }: WorldSnapshot): void {
  core.state = deserialize(state) as WorldState
  core.trades.load(trades)
  core.directory = createDirectory(core.state)
}

/** Equal states have equal digests. Hex SHA-256. */
function digestOf({ state, trades }: Core): string {
  const digest = createHash('sha256')
  digest.update(JSON.stringify(state, (_key, value: unknown) => toPlain(value)))
  for (const rows of trades.portions()) digest.update(rows.join('\n'))
  return digest.digest('hex')
}

function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  return value instanceof Set ? [...value] : value
}

/** Standard deviation of a coin price per minute: 60 % a year. */
const minuteStep = 0.000_828

/** Runs all tasks due up to a moment, in order. */
function runUntil(core: Core, at: number): void {
  const { state } = core
  for (let task = takeDue(state.agenda, at); task; task = takeDue(state.agenda, at)) {
    state.now = Math.max(state.now, task.at)
    run(core, task)
  }
  state.now = Math.max(state.now, at)
}

function run(core: Core, task: Task): void {
  const fn = tasks[task.kind] as (core: Core, task: Task) => void
  fn(core, task)
}

const tasks: {
  readonly [K in Task['kind']]: (core: Core, task: Extract<Task, { readonly kind: K }>) => void
} = {
  minute: passMinute,
  market: (core, { token }) => makeMarket(core, token),
  audit: (core, { token }) => auditAgain(core, token),
  retire: (core, { token }) => retire(core, token),
  wake: (core, { wallet }) => wake(core, wallet),
  buy: (core, { wallet, token, usd }) => buyAsPlanned(core, wallet, token, usd),
  sell: (core, { wallet, token }) => void executeSellAll(core, wallet, token),
  announce: (core, { token, seq, liquidityMicro }) => announce(core, token, seq, liquidityMicro),
  rested: (core, { alertId }) => checkRestedAlert(core, alertId),
  daily: (core, { story, round }) => runDailyStory(core, story, round),
  scam: (core, { token, step }) => continueScam(core, token, step),
  launch: (core, { token, left }) => continueLaunch(core, token, left),
  crash: (core, { token, left }) => continueCrash(core, token, left),
}

function auditAgain(core: Core, token: number): void {
  if (tokenAt(core, token).isAbandoned) return
  plan(core, { kind: 'audit', token }, hourMs)
  auditContract(core, token)
}

/** Moves coin prices, and with them all dollar prices of tokens. */
function passMinute(core: Core): void {
  plan(core, { kind: 'minute' }, minuteMs, false)
  for (const coin of coins) {
    const state = core.state.coins[coin]
    const step = BigInt(Math.round(core.chance.normal(state.stream) * minuteStep * 1e9))
    state.price += (state.price * step) / 1_000_000_000n
    state.prices.push(state.price)
  }
  checkAllPriceAlerts(core)
}

/** The first wallet of each of these archetypes is tracked on every network. */
const trackedArchetypes: readonly Archetype[] = ['whale', 'sniper', 'momentum', 'dip']
const defaultRules = { largeTradeUsd: 10_000, milestonesUsd: [1000, 5000, 25_000, 100_000], riskSensitivity: 10 }

/** State of an empty world. */
function emptyState(startAt: number, activity: number): WorldState {
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
    events: [],
    streams: { stories: newStream('stories'), names: newStream('names'), acts: newStream('acts') },
  }
}

function openingOf(coin: Coin): CoinState {
  const price = BigInt(Math.round(openingPricesUsd[coin] * 1e8))
  return { price, stream: newStream(`coin:${coin}`), prices: [price] }
}

/** Creates the initial tokens and wallets, and plans the first tasks. */
function populate(core: Core): void {
  plan(core, { kind: 'minute' }, 60_000, false)
  for (const network of networkIds) {
    for (const [symbol, name] of establishedNames[network]) establish(core, network, symbol, name)
    for (const archetype of archetypes) openWallets(core, network, archetype)
  }
  for (const story of Object.keys(storiesPerDay) as DailyStory[]) planDailyStory(core, story, 0)
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

function openWallets(core: Core, network: NetworkId, archetype: Archetype): void {
  const { count, budgetUsd, wakeMs } = habits[archetype]
  for (let n = 1; n <= count; n++) {
    const wallet = openWallet(core, network, addressFor(core, network, `${archetype}:${n}`), archetype)
    const owner = walletAt(core, wallet)
    owner.isTracked = n === 1 && trackedArchetypes.includes(archetype)
    fund(core, wallet, coinsForUsd(core, network, core.chance.between(owner.stream, ...budgetUsd)))
    if (archetype === 'bot') core.directory.bots[network].push(wallet)
    // Spreads first wake-ups so that every wallet trades within the first hours.
    const firstWakeMs = core.chance.uniform(owner.stream) * Math.min(wakeMs ?? 0, 3 * hourMs)
    if (wakeMs !== null) plan(core, { kind: 'wake', wallet }, firstWakeMs)
  }
}
