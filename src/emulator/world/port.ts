import { z } from 'zod'
import { eventTypes, type KnownEvent, type NetworkId, networkIds } from '../../../schema/index.ts'
import { alertTypes } from '../../../schema/rest/alert.ts'
import { networkStatuses } from '../../../schema/rest/network.ts'
import type { token } from '../../../schema/rest/token.ts'
import type { pnlSummary, position, trade, walletOverview } from '../../../schema/rest/wallet.ts'
import { canonical, lineOf, numberFrom, numberUpTo, positive } from '../values.ts'
import type { TradePortion } from './trade-log.ts'

/** Snapshots of one world share full portions of trades, which never change. */
export interface WorldSnapshot {
  readonly state: Uint8Array
  readonly trades: readonly TradePortion[]
}

export interface WorldEvent {
  /** Number of the event, from 1. */
  readonly seq: number
  /** Number of the change that caused it. */
  readonly cause: number
  readonly event: KnownEvent | VolumeSpikeEvent
  /** Alerts that fired the event, in the order of creation; there may be several (A42). */
  readonly alertIds: readonly string[]
  readonly audience: Audience
}

/**
 * Recipients of an event. `all`: every subscriber. `owners`: accounts that own one of its alerts (R93, A14). `alerts`:
 * only URLs of its alerts, for trades of untracked wallets (A15).
 */
export type Audience = 'all' | 'owners' | 'alerts'

/** Event of a `volume_spike` alert: an undocumented type (A14, A41). USD as everywhere (A16). */
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
    /** Excess of the last hour over the mean hour, in percent to a millionth. */
    increase_pct: number
    volume_1h_usd: number
    /** Mean of the 24 hours before the last one. */
    mean_hourly_volume_usd: number
  }
}

/** A moment of the world that can be read again. */
export interface AsOf {
  readonly at: number
  readonly seq: number
}

export interface PageRequest {
  /** 1 to 100. */
  readonly limit: number
  /** Key of the last item of the page before; null for the first page. */
  readonly after: number | null
  /** Moment of the first page. */
  readonly asOf: AsOf
}

/** Items existed at `asOf`, so new items don't shift later pages (R122). */
export interface Page<T> {
  readonly items: readonly T[]
  /** Key of the last item if more exist, else null. */
  readonly lastKey: number | null
  /** Number of items at the time of the request (A60). */
  readonly total: number
}

/** Reference to a wallet or token. Use it at once, and only with the world that returned it. */
export interface Ref {
  readonly network: NetworkId
  readonly address: string
  readonly index: number
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

/** Thrown by commands that the world can't carry out; the message names the expectation. Nothing has changed. */
export class WorldRefusal extends Error {
  override name = 'WorldRefusal'
}

/** Result of a command: JSON. */
export type CommandResult = Readonly<Record<string, unknown>>

export const storyNames = ['scam', 'launch', 'whale', 'crash', 'bag-holder'] as const
export type StoryName = (typeof storyNames)[number]

/** Maximum of one trade and of the liquidity of one listing, in USD. */
export const maxTradeUsd = 1_000_000_000

const network = z.enum(networkIds)
const address = z.string()
const tradeUsd = numberUpTo(maxTradeUsd)
const aboveZero = 'expected a number above 0'

export const thresholdsSchema = z.strictObject({
  largeTradeUsd: z.exactOptional(positive),
  milestonesUsd: z.exactOptional(z.array(positive).min(1).max(100)),
  riskSensitivity: z.exactOptional(numberFrom(0, 100)),
})

/** Bodies of the commands of the control API by kind. Addresses become canonical. */
export const commandBodies = {
  /** A wallet, known or new, trades a token against the native coin. A sale without an amount sells everything. */
  trade: z
    .strictObject({
      network,
      wallet: address,
      side: z.enum(['buy', 'sell']),
      token: address,
      usd: z.exactOptional(tradeUsd),
      /** Part of the balance. */
      fraction: z.exactOptional(numberUpTo(1)),
    })
    .refine(
      ({ side, usd, fraction }) =>
        fraction === undefined ? side === 'sell' || usd !== undefined : side === 'sell' && usd === undefined,
      'a purchase takes usd; a sale takes usd or fraction',
    )
    .transform(canonical('wallet', 'token')),
  /** A wallet swaps all of one token for another, in one transaction. */
  swap: z
    .strictObject({ network, wallet: address, from: address, to: address })
    .transform(canonical('wallet', 'from', 'to')),
  /** A new token with a pool. */
  list: z.strictObject({
    network,
    symbol: lineOf('a symbol', 32),
    name: lineOf('a name', 64),
    liquidityUsd: numberFrom(1, maxTradeUsd),
  }),
  /** Removes `percent` of the pool's liquidity at once. A pool needs something left. */
  rug: z.strictObject({ network, token: address, percent: numberFrom(0.01, 99.99) }).transform(canonical('token')),
  /** `to` null = renounced. */
  'transfer-owner': z
    .strictObject({ network, token: address, to: address.nullable() })
    .transform(canonical('token', 'to')),
  honeypot: z.strictObject({ network, token: address, honeypot: z.enum(honeypotTypes) }).transform(canonical('token')),
  /** Buys up a bonding curve until its token graduates; without `token`, launches a new one first. */
  graduate: z.strictObject({
    token: z.exactOptional(address),
    symbol: z.exactOptional(lineOf('a symbol', 32)),
    name: z.exactOptional(lineOf('a name', 64)),
  }),
  /** A trade moves the price of a token to `priceUsd`, or by `percent`. */
  'price-move': z
    .strictObject({
      network,
      token: address,
      priceUsd: z.exactOptional(numberUpTo(1e15)),
      percent: z.exactOptional(numberFrom(-99.9, 1e6)),
    })
    .refine(
      (command) => (command.priceUsd === undefined) !== (command.percent === undefined),
      'expected either priceUsd or percent',
    )
    .transform(canonical('token')),
  'network-status': z.strictObject({ network, status: z.enum(networkStatuses) }),
  story: z.strictObject({ story: z.enum(storyNames) }),
  /** Trading activity, as a multiple of the default. */
  activity: z.strictObject({ factor: numberFrom(0, 10_000) }),
  track: z
    .strictObject({ network, wallet: address, isTracked: z.boolean().default(true) })
    .transform(canonical('wallet')),
  thresholds: thresholdsSchema,
} as const

/** Bodies of all commands by kind. */
export const allCommandBodies = {
  ...commandBodies,
  /** Runs the shortest story that leads to an event of the type, within five seconds of world time. */
  trigger: z.strictObject({ type: z.enum(eventTypes) }),
  /** Adds an alert: an event arises when its condition comes true (R42, R93, R104, A14, A15, A17). */
  'add-alert': z
    .strictObject({
      alertId: z.string(),
      type: z.enum(alertTypes),
      network,
      address,
      threshold: z.number(aboveZero).positive(aboveZero),
      /** True if it fires only once (A17). */
      isOneShot: z.boolean().default(false),
    })
    .transform(canonical('address')),
  'remove-alert': z.strictObject({ alertId: z.string() }),
} as const

type Bodies = typeof allCommandBodies
export type CommandKind = keyof Bodies
export type WorldCommand = { [K in CommandKind]: Readonly<{ kind: K } & z.input<Bodies[K]>> }[CommandKind]
/** A validated command of one kind, with its defaults. */
export type CommandOf<K extends CommandKind> = Readonly<z.output<Bodies[K]>>

/** Settings of a world, with their defaults. */
export const worldSettings = {
  /** Trading activity, as a multiple of the default of about 35,000 swaps a day. */
  activity: z.number().min(0).max(10_000).default(1),
  /** Realized PnL: on close (`closed`), or on every sale (`disposals`) (A12). */
  pnlMode: z.enum(['closed', 'disposals']).default('closed'),
  /** True if a graduation also emits a listing (A68). */
  graduationAlsoLists: z.boolean().default(true),
  /** Limits that make a whale (A5). */
  whaleUsd: positive.default(1_000_000),
  whaleSupplyPct: positive.max(100).default(1),
}

interface WorldOrigin {
  readonly seed: string
  /** Start of history. */
  readonly startAt: number
}
type WorldSettings = z.ZodObject<typeof worldSettings>
export type WorldOptions = WorldOrigin & Readonly<z.input<WorldSettings>>
export type FullWorldOptions = WorldOrigin & Readonly<z.output<WorldSettings>>
