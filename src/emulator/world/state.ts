import type { NetworkId } from '../../../schema/index.ts'
import type { Due } from '../sorted-list.ts'
import type { Stream } from './chance.ts'
import type { Coin } from './networks.ts'
import type { Mark } from './numbers.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import type { NetworkStatus } from '../../../schema/rest/network.ts'
import type { Archetype, Audience, HoneypotType } from './port.ts'

/** What the audit finds in a contract. */
export type AuditCheck =
  | 'owner_not_renounced'
  | 'mintable'
  | 'proxy'
  | 'hidden_owner'
  | 'blacklist'
  | 'transfer_pausable'
  | 'high_sell_tax'
  | 'cannot_sell'
  | 'low_liquidity'
  | 'lp_unlocked'
  | 'top10_concentration'
  | 'liquidity_removed'
  | 'mint_authority_live'
  | 'freeze_authority_live'
  | 'transfer_fee'

// Everything that is in the world, as plain data: a snapshot is this and the trades. Entities name each other by their
// place in the lists, which never changes.

export interface WorldState {
  now: number
  /** Entries of the log so far, trades included. */
  seq: number
  /** Things planned so far. */
  planned: number
  activity: number
  readonly coins: Record<Coin, CoinState>
  readonly networks: Record<NetworkId, NetworkState>
  readonly tokens: TokenState[]
  /** Tokens that have a pool, in the order in which they got it. */
  readonly openedMarkets: number[]
  readonly wallets: WalletState[]
  readonly holdings: HoldingState[]
  readonly agenda: Task[]
  readonly alerts: AlertState[]
  readonly rules: Rules
  /** What happened beside trades. */
  readonly log: LogEntry[]
  readonly events: EventRecord[]
  readonly streams: Record<StreamName, Stream>
}

export type StreamName = 'stories' | 'names' | 'acts'

export interface CoinState {
  /** In 1e-8 USD. */
  price: bigint
  readonly stream: Stream
  /** The price in each minute since the beginning. */
  readonly prices: bigint[]
}

export interface NetworkState {
  status: NetworkStatus
  /** Coins that ever came into being. */
  minted: bigint
  /** Coins that went to fees. */
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
  /** The entry of the log that tells of its creation. */
  readonly createdSeq: number
  /** Place of the wallet that made it, holds the allocation and owns the liquidity. */
  readonly creator: number
  owner: string
  /** Null until it has left its bonding curve. */
  pool: (Pool & { readonly address: string; readonly dex: string; readonly feeBps: number }) | null
  curve: Curve | null
  mark: Mark
  /** What its pool was marked at when it opened, and the entry of the log that tells of it. */
  opening: { readonly seq: number; readonly mark: Mark } | null
  /** What its market thinks it is worth: the pool's ratio times 1e24. */
  fair: bigint
  /** In millionths of a dollar, since the beginning. */
  volume: bigint
  readonly stream: Stream
  readonly contract: ContractState
  risk: RiskState
  /** It was there when the world began. */
  readonly isEstablished: boolean
  /** Nobody makes a market for it any more. */
  isAbandoned: boolean
}

/** A constant-product pool: `coins` · `tokens` never falls except when liquidity is taken out. Base units. */
export interface Pool {
  coins: bigint
  tokens: bigint
}

/**
 * The bonding curve of the launch platform: a constant-product pool of which 30 SOL and 279.9 million tokens are only
 * virtual. Lamports and base units (six decimals).
 */
export interface Curve {
  virtualCoins: bigint
  virtualTokens: bigint
  /** Left to buy; none left = completed. */
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
  /** Why sales fail; null while they work. */
  honeypot: HoneypotType | null
  isLiquidityLocked: boolean
  wasLiquidityRemoved: boolean
  hasTransferFee: boolean
}

export interface RiskState {
  score: number
  readonly checks: readonly AuditCheck[]
  /** The score that was last told: what a change is measured from. */
  toldScore: number
  toldChecks: readonly AuditCheck[]
}

export interface WalletState {
  readonly network: NetworkId
  readonly address: string
  /** Null for one that only acts from outside. */
  readonly archetype: Archetype | null
  coins: bigint
  isTracked: boolean
  /** When it first held a token or an event named it; null until then, and REST does not know it. */
  seenAt: number | null
  readonly stream: Stream
  /** Positions that are open, by holding, in the order of first acquisition. */
  readonly open: Set<number>
  /** All positions it ever had. */
  readonly holdings: number[]
  /** Gain of closed positions in coins, and their cost in millionths of a dollar. */
  realized: bigint
  realizedCost: bigint
  /** Its realized gain when a position was last closed, at the rate of that moment; millionths of a dollar. */
  judged: bigint
  /** Milestones that an event has named. */
  readonly milestones: number[]
}

export interface HoldingState {
  readonly wallet: number
  readonly token: number
  balance: bigint
  /** Average cost of what is held, fees included, in millionths of a dollar. */
  cost: bigint
  /** Gain and cost of parts sold since the position was opened: they count when it is closed (A12). */
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
  /** It fires once and never again (A17). */
  readonly isOneShot: boolean
  /** True if the next crossing counts. False after a notification, until the value goes back (A17). */
  isArmed: boolean
  /** Null until it fires for the first time. */
  firedAt: number | null
}

export interface Rules {
  largeTradeUsd: number
  milestonesUsd: readonly number[]
  riskSensitivity: number
}

export type LogKind =
  | 'token-created'
  | 'pool-created'
  | 'liquidity-removed'
  | 'minted'
  | 'owner-transferred'
  | 'contract-changed'
  | 'graduated'
  | 'audited'
  | 'price-seen'
  | 'volume-seen'
  | 'status-changed'

/** An event as JSON: there are many, and few are ever read again. */
export interface EventRecord {
  readonly cause: number
  readonly alertIds: readonly string[]
  readonly audience: Audience
  readonly json: string
}

export interface LogEntry {
  readonly seq: number
  readonly at: number
  readonly kind: LogKind
  /** Place of the token it is about; -1 if none. */
  readonly token: number
}

/** What is planned, with the places of whom it is about. What is paced comes sooner the busier everybody is. */
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

/** What happens so and so often a day. */
export type DailyStory = 'scam' | 'listing' | 'launch' | 'ownership' | 'withdrawal' | 'crash' | 'bag-holder'
