import { z } from 'zod'
import { type EventType, type KnownEvent, type NetworkId, networkIds } from '../../../schema/index.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import { type NetworkStatus, networkStatuses } from '../../../schema/rest/network.ts'
import type { Timeframe } from '../../../schema/rest/parameters.ts'
import type { token } from '../../../schema/rest/token.ts'
import type { pnlSummary, position, trade, walletOverview } from '../../../schema/rest/wallet.ts'
import { canonical, lineOf, numberFrom, numberUpTo, positive } from '../values.ts'
import type { TradePortion } from './trade-log.ts'

/**
 * What the rest of the emulator knows of the simulated world. Everything the REST service tells is read here, and what
 * happens in it comes out as events, so that answers and events cannot disagree.
 *
 * Times are milliseconds since 1970 of world time. Numbers are ready to be shown: USD of 1 and more to the cent, prices
 * with 12 significant digits, amounts of tokens with at most 15 (A16).
 */
export interface World {
  /** The moment up to which everything has happened. */
  now(): number
  /** How many entries the log of the world has: what has been seen at `seq` can be read again as of it. */
  seq(): number
  /** When something happens next, or null. */
  nextAt(): number | null
  /** Lets everything happen that is due up to `at`, in order. Going back does nothing. */
  advanceTo(at: number): void
  /** Calls `fn` for each event as it arises, within `advanceTo` and within acts. Returns how to stop it. */
  onEvent(fn: (event: WorldEvent) => void): () => void
  /** Events that have arisen, oldest first, from `after` (an event's `seq`) on. */
  eventsAfter(after: number, limit: number): readonly WorldEvent[]
  /** The number of the newest event; 0 if there is none. */
  lastEvent(): number
  /** A digest of everything that is: equal states have equal digests (R7). Hex SHA-256. */
  digest(): string

  readonly views: WorldViews
  readonly acts: WorldCommands

  /** Everything that is, to be restored in a world of the same options: `restore(snapshot())` changes nothing. */
  snapshot(): WorldSnapshot
  restore(snapshot: WorldSnapshot): void
}

/** Trades never change: snapshots of one world share their full portions. */
export interface WorldSnapshot {
  readonly state: Uint8Array
  readonly trades: readonly TradePortion[]
}

export interface WorldEvent {
  /** Position among the events, from 1 on. */
  readonly seq: number
  /** The entry of the log that caused it. */
  readonly cause: number
  readonly event: KnownEvent | VolumeSpikeEvent
  /** The alerts that it answers, in the order in which they were set: one event may meet several (A42). */
  readonly alertIds: readonly string[]
  readonly audience: Audience
}

/**
 * Who is told of an event: every subscriber; the accounts that own one of its alerts, for what is about an alert of theirs
 * (R93, A14); or only the URLs of its alerts, for trades of wallets that nobody tracks (A15).
 */
export type Audience = 'all' | 'owners' | 'alerts'

/** What an alert of the type `volume_spike` gives: a type that is not documented (A14, A41). USD as everywhere (A16). */
export interface VolumeSpikeEvent {
  id: string
  type: 'token.volume_spike'
  created_at: string
  data: {
    token_address: string
    network: string
    symbol: string
    alert_type: 'volume_spike'
    threshold_pct: number
    /** By how many percent the last hour is above the mean hour, to a millionth. */
    increase_pct: number
    volume_1h_usd: number
    /** Of the 24 hours before the last one. */
    mean_hourly_volume_usd: number
  }
}

/** A moment of the world that can be read again later. */
export interface AsOf {
  readonly at: number
  readonly seq: number
}

export interface PageRequest {
  /** 1 to 100. */
  readonly limit: number
  /** Key of the last item of the page before; null for the first page. */
  readonly after: number | null
  /** The moment of the first page. */
  readonly asOf: AsOf
}

/** Items exist since before `asOf`, so that those that come later move none of them to another page (R122). */
export interface Page<T> {
  readonly items: readonly T[]
  /** Key of the last item if more exist, else null. */
  readonly lastKey: number | null
  /** How many there are at the time of the request (A60). */
  readonly total: number
}

/** A wallet or a token that was found; to be used at once, and only with the world it came from. */
export interface WalletRef {
  readonly network: NetworkId
  readonly address: string
  readonly index: number
}
export interface TokenRef {
  readonly network: NetworkId
  readonly address: string
  readonly index: number
}

/** What REST reads. Addresses are canonical, as `parseAddress` gives them. */
export interface WorldViews {
  /** A wallet that has traded; null if it was never seen (A11). */
  findWallet(network: NetworkId, address: string): WalletRef | null
  findToken(network: NetworkId, address: string): TokenRef | null
  networkStatus(network: NetworkId): NetworkStatus
  overview(wallet: WalletRef): WalletOverview
  /** In the order in which the tokens were first acquired, prices as of `asOf` (A59). */
  portfolio(wallet: WalletRef, page: PageRequest): Page<Position>
  pnl(wallet: WalletRef, timeframe: Timeframe): PnlSummary
  /** Newest first (A21); with `token` (an address of the network) only trades with it in or out (R56). */
  trades(wallet: WalletRef, page: PageRequest, token: string | null): Page<Trade>
  token(token: TokenRef): Token
  /** Oldest first; case-insensitive part of symbol or name, or the exact address (A20). */
  searchTokens(q: string, network: NetworkId | null, page: PageRequest): Page<Token>
  /** At most `count` points, oldest first, evenly apart over the last 24 hours or the time since it had a price. */
  prices(token: TokenRef, count: number): readonly PricePoint[]
  /** For the explorer and the control API. */
  trackedWallets(): readonly WalletRef[]
  /** What rules go by that can be set (A34). */
  thresholds(): Thresholds
  tokens(): readonly TokenRef[]
  wallets(): readonly (WalletRef & { readonly archetype: Archetype | null; readonly tradeCount: number })[]
}

export interface PricePoint {
  readonly at: number
  readonly price_usd: number
}

export interface Thresholds {
  readonly largeTradeUsd: number
  readonly milestonesUsd: readonly number[]
  readonly riskSensitivity: number
}

export const archetypes = ['whale', 'sniper', 'momentum', 'dip', 'bot', 'dormant'] as const
export type Archetype = (typeof archetypes)[number]

export type WalletOverview = Readonly<z.output<typeof walletOverview>>
export type Position = Readonly<z.output<typeof position>>
export type PnlSummary = Readonly<z.output<typeof pnlSummary>>
export type Trade = Readonly<z.output<typeof trade>>
export type TradeSide = Trade['token_in']
export type Token = Readonly<z.output<typeof token>>

export const honeypotTypes = [
  'sell_blocked',
  'extreme_sell_tax',
  'blacklist',
  'transfer_paused',
  'fake_renounce',
] as const
export type HoneypotType = (typeof honeypotTypes)[number]

/** Thrown by acts that the world cannot follow; the message says what was expected. Nothing has changed. */
export class WorldRefusal extends Error {
  override name = 'WorldRefusal'
}

/**
 * What is done to the world from outside, at its present moment. Each act is plain JSON, so that it can be logged
 * before it is applied, and applied again: the same acts at the same moments give the same world.
 */
export interface WorldCommands {
  /** Throws `WorldRefusal`. What it gives back is JSON too. */
  apply(act: WorldCommand): Readonly<Record<string, unknown>>
}

export const storyNames = ['scam', 'launch', 'whale', 'crash', 'bag-holder'] as const
export type StoryName = (typeof storyNames)[number]

const network = z.enum(networkIds)
const address = z.string()
const usd = numberUpTo(1e15)

export const thresholdsSchema = z.strictObject({
  largeTradeUsd: z.exactOptional(positive),
  milestonesUsd: z.exactOptional(z.array(positive).min(1).max(100)),
  riskSensitivity: z.exactOptional(z.number().min(0).max(100)),
})

/** Acts that anybody may ask for, by kind. Addresses become canonical. */
export const commandBodies = {
  /** A wallet, known or new, buys or sells a token against the native coin. A sale takes `usd` or `fraction` (of the balance). */
  trade: z
    .strictObject({
      network,
      wallet: address,
      side: z.enum(['buy', 'sell']),
      token: address,
      usd: z.exactOptional(usd),
      fraction: z.exactOptional(numberUpTo(1)),
    })
    .transform(canonical('wallet', 'token')),
  /** A wallet sells all it has of a token and buys another for it, in one transaction. */
  swap: z
    .strictObject({ network, wallet: address, from: address, to: address })
    .transform(canonical('wallet', 'from', 'to')),
  /** A new token with a pool. */
  list: z.strictObject({ network, symbol: lineOf('a symbol', 32), name: lineOf('a name', 64), liquidityUsd: usd }),
  /** `percent` of the pool's liquidity is taken out at once. */
  rug: z.strictObject({ network, token: address, percent: numberUpTo(100) }).transform(canonical('token')),
  /** `to` null = renounced. */
  'transfer-owner': z
    .strictObject({ network, token: address, to: address.nullable() })
    .transform(canonical('token', 'to')),
  honeypot: z.strictObject({ network, token: address, honeypot: z.enum(honeypotTypes) }).transform(canonical('token')),
  /** A token on its bonding curve is bought up until it graduates; without `token` a new one is launched first. */
  graduate: z.strictObject({
    token: z.exactOptional(address),
    symbol: z.exactOptional(lineOf('a symbol', 32)),
    name: z.exactOptional(lineOf('a name', 64)),
  }),
  /** Trades move the price of a token to `priceUsd`, or by `percent`. */
  'price-move': z
    .strictObject({
      network,
      token: address,
      priceUsd: z.exactOptional(usd),
      percent: z.exactOptional(numberFrom(-99.9, 1e6)),
    })
    .refine(
      (act) => (act.priceUsd === undefined) !== (act.percent === undefined),
      'expected either priceUsd or percent',
    )
    .transform(canonical('token')),
  'network-status': z.strictObject({ network, status: z.enum(networkStatuses) }),
  story: z.strictObject({ story: z.enum(storyNames) }),
  /** How busy everybody is, as a multiple of the default. */
  activity: z.strictObject({ factor: numberFrom(0, 10_000) }),
  track: z
    .strictObject({ network, wallet: address, isTracked: z.boolean().default(true) })
    .transform(canonical('wallet')),
  thresholds: thresholdsSchema,
} as const

type Asked = typeof commandBodies

export type WorldCommand =
  | { readonly [K in keyof Asked]: Readonly<{ kind: K } & z.output<Asked[K]>> }[keyof Asked]
  /** The shortest story that legally yields an event of the type; it arises within five seconds of world time. */
  | { readonly kind: 'trigger'; readonly type: EventType }
  /** An alert: events arise when its condition comes true (R42, R93, R104, A14, A15, A17). */
  | {
      readonly kind: 'add-alert'
      readonly alertId: string
      readonly type: AlertType
      readonly network: NetworkId
      readonly address: string
      readonly threshold: number
      /** It fires once and never again (A17). Default false. */
      readonly isOneShot?: boolean
    }
  | { readonly kind: 'remove-alert'; readonly alertId: string }
  /** The shortest story in which the condition of an alert comes true; its event arises at once. */
  | { readonly kind: 'fire-alert'; readonly alertId: string }

export interface WorldOptions {
  readonly seed: string
  /** When its history begins. */
  readonly startAt: number
  /** How busy everybody is, as a multiple of the default of about 35,000 swaps a day. Default 1. */
  readonly activity?: number
  /** How the gain of a partial sale is counted (A12). Default `closed`. */
  readonly pnlMode?: 'closed' | 'disposals'
  /** Whether a graduation also lists the token (A68). Default true. */
  readonly graduationAlsoLists?: boolean
  /** What makes a whale (A5). Default 1,000,000 USD and 1 %. */
  readonly whaleUsd?: number
  readonly whaleSupplyPct?: number
}
