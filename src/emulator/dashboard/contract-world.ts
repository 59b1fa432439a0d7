import type { NetworkId } from '../../../schema/index.ts'

// What the explorer of the world is answered; tokens and wallets as REST gives them.

export interface TokenRow {
  readonly seq: number
  readonly network: NetworkId
  readonly address: string
  readonly symbol: string
  readonly name: string
  readonly price_usd: number
}

export interface WalletRow {
  readonly seq: number
  readonly network: NetworkId
  readonly address: string
  readonly archetype: string
  readonly tradeCount: number
  readonly tracked: boolean
}

/** As REST gives it. */
export interface Token extends Omit<TokenRow, 'seq'> {
  readonly decimals: number
  readonly change_pct_24h: number
  readonly volume_24h_usd: number
  readonly liquidity_usd: number
  readonly market_cap_usd: number
  readonly holder_count: number
  readonly risk_score: number
  readonly risk_level: string
  readonly created_at: string
}

export interface TokenPage {
  readonly token: Token
  readonly prices: readonly { readonly at: string; readonly price_usd: number }[]
}

export interface Pnl {
  readonly pnl: {
    readonly realized_usd: number
    readonly unrealized_usd: number
    readonly total_usd: number
    readonly roi_pct: number
  }
}
export type Timeframe = '24h' | '7d' | '30d' | 'all'

export interface Position {
  readonly token_address: string
  readonly symbol: string
  readonly name: string
  readonly balance: number
  readonly price_usd: number
  readonly value_usd: number
  readonly unrealised_pnl_usd: number
  readonly unrealised_pnl_pct: number
  readonly allocation_pct: number
}

interface TradeSide {
  readonly address: string
  readonly symbol: string
  readonly amount: number
  readonly value_usd: number
}

export interface Trade {
  readonly tx_hash: string
  readonly type: string
  readonly timestamp: string
  readonly token_in: TradeSide
  readonly token_out: TradeSide
  readonly dex: string
  readonly fee_usd: number
}

export interface WalletPage {
  readonly overview: {
    readonly address: string
    readonly network: NetworkId
    readonly portfolio_value_usd: number
    readonly total_tokens_held: number
    readonly total_trades_all_time: number
    readonly first_active: string
    readonly last_active: string
    readonly is_whale: boolean
  }
  readonly pnl: Readonly<Record<Timeframe, Pnl>>
  readonly positions: readonly Position[]
  readonly trades: readonly Trade[]
  readonly tracked: boolean
}
