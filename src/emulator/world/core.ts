import { networkIds, type KnownEvent, type NetworkId } from '../../../schema/index.ts'
import { addDue } from '../sorted-list.ts'
import type { Chance, Stream } from '../random.ts'
import { toEventId } from './addresses.ts'
import { networkFacts } from './networks.ts'
import { coinsToMicro, microToCoins } from './numbers.ts'
import type { Audience, VolumeSpikeEvent, FullWorldOptions, WorldEvent } from './port.ts'
import type { AlertState, HoldingState, Task, TokenState, WalletState, WorldState } from './state.ts'
import { holdingKey, type TradeLog } from './trade-log.ts'

/** Shared state of the world's modules. */
export interface Core {
  readonly options: FullWorldOptions
  readonly chance: Chance
  /** Transaction hash of a change. */
  readonly txHash: (network: NetworkId, seq: number) => string
  state: WorldState
  readonly trades: TradeLog
  directory: ReturnType<typeof createDirectory>
  listeners: Set<(event: WorldEvent) => void>
  /** Wallets whose milestones are checked after their trades of this moment; null: after each trade. */
  pendingMilestones: Set<number> | null
}

/** Map key of a canonical address. */
export function placeOf(network: NetworkId, address: string): string {
  return `${network}:${address}`
}

/** Indexes of wallets, tokens, holdings and alerts. Built from the state. */
export function createDirectory({ wallets, tokens, openedMarkets, holdings, alerts }: WorldState) {
  const holders: Set<number>[] = tokens.map(() => new Set())
  holdings.forEach(({ token, balance }, index) => balance > 0n && holders[token]?.add(index))
  const open = openedMarkets.filter((token) => tokens[token]?.isAbandoned === false)
  const indexes = wallets.map((_, index) => index)
  return {
    wallets: new Map(wallets.map(({ network, address }, index) => [placeOf(network, address), index])),
    tokens: new Map(tokens.map(({ network, address }, index) => [placeOf(network, address), index])),
    holdings: new Map(holdings.map(({ wallet, token }, index) => [holdingKey(wallet, token), index])),
    /** Non-empty holdings by token. */
    holders,
    /** Actively traded tokens with a pool, by network. */
    markets: byNetwork((network) => open.filter((token) => tokens[token]?.network === network)),
    /** Market makers by network. */
    bots: byNetwork((network) =>
      indexes.filter((index) => wallets[index]?.network === network && wallets[index].archetype === 'bot'),
    ),
    /** Alerts by the place of their address, in the order of creation. */
    alerts: alertsByPlace(alerts),
  }
}

function byNetwork(of: (network: NetworkId) => number[]): Record<NetworkId, number[]> {
  return Object.fromEntries(networkIds.map((network) => [network, of(network)])) as Record<NetworkId, number[]>
}

export function alertsByPlace(alerts: readonly AlertState[]) {
  return Map.groupBy(alerts, ({ network, address }) => placeOf(network, address))
}

function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index]
  if (item === undefined) throw new RangeError(`the world has no item ${index} in a list of ${items.length}`)
  return item
}

export const walletAt = ({ state }: Core, index: number): WalletState => itemAt(state.wallets, index)
export const tokenAt = ({ state }: Core, index: number): TokenState => itemAt(state.tokens, index)
export const holdingAt = ({ state }: Core, index: number): HoldingState => itemAt(state.holdings, index)

export function holdingOf(core: Core, wallet: number, token: number): HoldingState | undefined {
  const index = core.directory.holdings.get(holdingKey(wallet, token))
  return index === undefined ? undefined : core.state.holdings[index]
}

/** Non-empty holdings of a token. */
export function holdersOf(core: Core, token: number): Set<number> {
  return (core.directory.holders[token] ??= new Set())
}

/** Current price of a network's coin, in 1e-8 USD. */
export function coinPrice(core: Core, network: NetworkId): bigint {
  return core.state.coins[networkFacts[network].coin].price
}

/** Price at a moment, in 1e-8 USD. */
export function coinPriceAt(core: Core, network: NetworkId, at: number): bigint {
  const { prices, price } = core.state.coins[networkFacts[network].coin]
  const minute = Math.floor((at - core.options.startAt) / 60_000)
  return prices[Math.max(0, Math.min(minute, prices.length - 1))] ?? price
}

export function usdOfCoins(core: Core, network: NetworkId, coins: bigint): bigint {
  return coinsToMicro(coins, networkFacts[network].coinDecimals, coinPrice(core, network))
}

/** Converts dollars to base units of the coin. */
export function coinsForUsd(core: Core, network: NetworkId, usd: number): bigint {
  return coinsForMicro(core, network, BigInt(Math.round(usd * 1e6)))
}

export function coinsForMicro(core: Core, network: NetworkId, micro: bigint): bigint {
  return microToCoins(micro, networkFacts[network].coinDecimals, coinPrice(core, network))
}

export function newStream(entity: string): Stream {
  return { entity, drawn: 0 }
}

type Plannable = Task extends infer T
  ? T extends Task
    ? Omit<T, 'at' | 'priority' | 'order' | 'isPaced'>
    : never
  : never

/** Prices move before wallets act on them. */
const minutePriority = 0
const usualPriority = 1

/** Activity of a world without spontaneous trades: a minute of activity takes two years. */
export const minActivity = 0.000_001

/** Schedules a task in `waitMs`. Paced tasks come sooner at higher activity. */
export function plan(core: Core, task: Plannable, waitMs: number, isPaced = true): void {
  const { state } = core
  const wait = isPaced ? waitMs / state.activity : waitMs
  const priority = task.kind === 'minute' ? minutePriority : usualPriority
  const at = state.now + Math.max(1, Math.round(wait))
  addDue(state.agenda, { ...task, at, priority, order: state.planned++, isPaced } as Task)
}

/** Numbers a change of the world; the number identifies its transaction. */
export function numberChange(core: Core): number {
  return ++core.state.seq
}

/** Events after number `after`, oldest first. */
export function eventsAfter(core: Core, after: number, limit: number): readonly WorldEvent[] {
  return core.state.events.slice(after, after + limit).map(({ json, ...record }, index) => {
    return { seq: after + index + 1, event: JSON.parse(json) as WorldEvent['event'], ...record }
  })
}

type AnyType = WorldEvent['event']['type']
type DataOf<T extends AnyType> = Extract<KnownEvent | VolumeSpikeEvent, { readonly type: T }>['data']

const noAlerts: readonly string[] = []

/** Emits an event (R92), caused by a change. */
export function emit<T extends AnyType>(
  core: Core,
  type: T,
  data: DataOf<T>,
  cause: number,
  alertIds: readonly string[] = noAlerts,
  audience: Audience = 'all',
): void {
  const { state } = core
  const seq = state.events.length + 1
  const event = {
    id: toEventId(state.now, seq, core.chance.bytes(`event:${seq}`)),
    type,
    created_at: new Date(state.now).toISOString(),
    data,
  } as unknown as WorldEvent['event']
  state.events.push({ cause, alertIds, audience, json: JSON.stringify(event) })
  for (const listener of core.listeners) listener({ seq, cause, event, alertIds, audience })
}
