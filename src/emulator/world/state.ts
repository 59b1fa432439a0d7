import type { NetworkId } from '../../../schema/index.ts'
import type { Due } from '../sorted-list.ts'
import type { Stream } from '../random.ts'
import type { Coin } from './networks.ts'
import type { Mark } from './numbers.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import type { NetworkStatus } from '../../../schema/rest/network.ts'
import type { Archetype, Audience, HoneypotType } from './port.ts'

// The state of the world as plain data. A snapshot is this and the trades, and the data file stores it: field names are
// part of the file format. Entities refer to each other by list index, which never changes.

export interface WorldState {
  now: number
  /** Number of changes, trades included. */
  seq: number
  /** Number of tasks planned so far. */
  planned: number
  activity: number
  readonly coins: Record<Coin, CoinState>
  readonly networks: Record<NetworkId, NetworkState>
  readonly tokens: TokenState[]
  /** Tokens with a pool, in the order of opening. */
  readonly openedMarkets: number[]
  readonly wallets: WalletState[]
  readonly holdings: HoldingState[]
  readonly agenda: Task[]
  readonly alerts: AlertState[]
  readonly rules: Rules
  readonly events: EventRecord[]
  readonly streams: Record<StreamName, Stream>
}

export type StreamName = 'stories' | 'names' | 'acts'

export interface CoinState {
  /** Price in 1e-8 USD. */
  price: bigint
  readonly stream: Stream
  /** Price per minute since the start, in 1e-8 USD. */
  readonly prices: bigint[]
}

export interface NetworkState {
  status: NetworkStatus
  /** Coins minted so far, in base units. */
  minted: bigint
  /** Coins spent on fees, in base units. */
  elsewhere: bigint
}

export interface TokenState {
  readonly network: NetworkId
  readonly address: string
  readonly symbol: string
  readonly name: string
  readonly decimals: number
  supply: bigint
  readonly createdAt: number
  /** Number of the change of its creation. */
  readonly createdSeq: number
  /** Index of the wallet that created it, holds the allocation and owns the liquidity. */
  readonly creator: number
  owner: string
  /** Null while on the bonding curve. */
  pool: (Pool & { readonly address: string; readonly dex: string; readonly feeBps: number }) | null
  curve: Curve | null
  mark: Mark
  /** Mark of its pool at opening, and the number of that change; null while on the bonding curve. */
  opening: { readonly seq: number; readonly mark: Mark } | null
  /** Fair price: the pool ratio that market makers trade towards, times 1e24. */
  fair: bigint
  /** Total volume in millionths of a dollar. */
  volume: bigint
  readonly stream: Stream
  readonly contract: ContractState
  risk: RiskState
  /** True for tokens of the initial world. */
  readonly isEstablished: boolean
  /** True once its market has ended. */
  isAbandoned: boolean
}

/** A constant-product pool: `coins` · `tokens` falls only when liquidity is removed. Base units. */
export interface Pool {
  coins: bigint
  tokens: bigint
}

/** The bonding curve of the launch platform: a constant-product pool with virtual reserves. Lamports and base units (six decimals). */
export interface Curve {
  virtualCoins: bigint
  virtualTokens: bigint
  /** Tokens left to buy; 0 = completed. */
  realTokens: bigint
  realCoins: bigint
}

export interface ContractState {
  isMintable: boolean
  isProxy: boolean
  hasHiddenOwner: boolean
  hasBlacklist: boolean
  isPausable: boolean
  sellTaxBps: number
  /** Why sales fail; null while they succeed. */
  honeypot: HoneypotType | null
  isLiquidityLocked: boolean
  wasLiquidityRemoved: boolean
}

export interface RiskState {
  score: number
  /** Findings of the audit. */
  readonly checks: readonly string[]
  /** Last reported score: changes are measured from it. */
  toldScore: number
  toldChecks: readonly string[]
}

export interface WalletState {
  readonly network: NetworkId
  readonly address: string
  /** Null for a wallet that trades by commands only. */
  readonly archetype: Archetype | null
  coins: bigint
  isTracked: boolean
  /** When it first held a token or was named by an event; null before, and unknown to REST. */
  seenAt: number | null
  readonly stream: Stream
  /** Indexes of open holdings, in the order of first acquisition. */
  readonly open: Set<number>
  /** Indexes of all its holdings. */
  readonly holdings: number[]
  /** Gain of closed positions in coins, and their cost in millionths of a dollar. */
  realized: bigint
  realizedCost: bigint
  /** Realized gain at the latest close, at the price of that moment; millionths of a dollar. */
  judged: bigint
  /** Milestones already reported. */
  readonly milestones: number[]
}

export interface HoldingState {
  readonly wallet: number
  readonly token: number
  balance: bigint
  /** Average cost of the balance, fees included, in millionths of a dollar. */
  cost: bigint
  /** Gain and cost of partial sales since the position was opened, in millionths of a dollar; realized at the close (A12). */
  partGain: bigint
  partCost: bigint
  openedAt: number
}

export interface AlertState {
  readonly alertId: string
  readonly type: AlertType
  readonly network: NetworkId
  readonly address: string
  readonly threshold: number
  /** True if it fires only once (A17). */
  readonly isOneShot: boolean
  /** True if the next crossing counts. False after a notification, until the value goes back (A17). */
  isArmed: boolean
  /** Null until it fires for the first time. */
  firedAt: number | null
}

/** Thresholds of events (A34). */
export interface Rules {
  largeTradeUsd: number
  milestonesUsd: readonly number[]
  riskSensitivity: number
}

/** An event as JSON text: there are many, and few are read again. */
export interface EventRecord {
  readonly cause: number
  readonly alertIds: readonly string[]
  readonly audience: Audience
  readonly json: string
}

/** A scheduled task with the indexes of its subjects. Paced tasks come sooner at higher activity. */
export type Task = Due & { readonly isPaced: boolean } & (
    | { readonly kind: 'minute' }
    | { readonly kind: 'market'; readonly token: number }
    | { readonly kind: 'audit'; readonly token: number }
    | { readonly kind: 'retire'; readonly token: number }
    | { readonly kind: 'wake'; readonly wallet: number }
    | { readonly kind: 'buy'; readonly wallet: number; readonly token: number; readonly usd: number }
    | { readonly kind: 'sell'; readonly wallet: number; readonly token: number }
    | { readonly kind: 'announce'; readonly token: number; readonly seq: number; readonly liquidityMicro: bigint }
    | { readonly kind: 'rested'; readonly alertId: string }
    | { readonly kind: 'daily'; readonly story: DailyStory; readonly round: number }
    | { readonly kind: 'scam'; readonly token: number; readonly step: number }
    | { readonly kind: 'launch'; readonly token: number; readonly left: number }
    | { readonly kind: 'crash'; readonly token: number; readonly left: number }
  )

/** Stories that start a fixed number of times per day. */
export type DailyStory = 'scam' | 'listing' | 'launch' | 'ownership' | 'withdrawal' | 'crash' | 'bag-holder'
