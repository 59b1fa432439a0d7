import type { EventOf, EventType } from '../../schema/index.ts'
import { dexNames, freshToken, type Cast, type CastToken, type CastWallet } from './cast.ts'
import { toAddress, toPumpMint, toTxHash, zeroAddress } from './identity.ts'
import { round, type RandomStream } from './random.ts'

export type EventData<T extends EventType = EventType> = EventOf<T>['data']

const checks = [
  'owner_not_renounced',
  'mintable',
  'proxy',
  'hidden_owner',
  'blacklist',
  'transfer_pausable',
  'sell_tax',
  'low_liquidity',
  'lp_unlocked',
  'top10_holders',
] as const
const honeypots = ['sell_blocked', 'extreme_sell_tax', 'blacklist', 'transfer_paused', 'fake_renounce'] as const
const milestonesUsd = [1000, 5000, 25_000, 100_000] as const

/** The `data` of each event type with every documented field (R93–R102): a function of the cast and one stream. */
export const eventData: { readonly [T in EventType]: (cast: Cast, stream: RandomStream) => EventData<T> } = {
  'token.price_alert'(cast, stream) {
    const token = stream.pick(cast.tokens)
    const isAbove = stream.uniform() < 0.5
    const beyond = stream.between(0, 0.02, 4)
    const threshold = significant(token.priceUsd * stream.between(0.8, 1.25, 2))
    return {
      token_address: token.address,
      network: token.network,
      symbol: token.symbol,
      alert_type: isAbove ? 'price_above' : 'price_below',
      threshold_usd: threshold,
      current_price_usd: significant(threshold * (isAbove ? 1 + beyond : 1 - beyond)),
      change_pct_24h: stream.between(1, 18, 2) * (isAbove ? 1 : -1),
    }
  },
  'token.new_listing'(cast, stream) {
    const { network } = stream.pick(cast.tokens)
    return {
      token_address: toAddress(network, stream.bytes()),
      network,
      ...freshToken(stream),
      dex: stream.pick(dexNames[network]),
      pool_address: toAddress(network, stream.bytes()),
      initial_liquidity_usd: usd(stream, 5000, 80_000),
      listing_tx: toTxHash(network, stream),
    }
  },
  'token.risk_change'(cast, stream) {
    const token = stream.pick(cast.tokens)
    const isWorse = stream.uniform() < 0.8
    const low = stream.integer(5, 60)
    const high = low + stream.integer(11, 38)
    const current = isWorse ? high : low
    const first = stream.integer(0, checks.length - 3)
    const triggered = isWorse ? checks.slice(first, first + stream.integer(1, 3)) : []
    const cause = isWorse ? `new findings: ${triggered.join(', ')}` : 'earlier findings no longer apply'
    return {
      token_address: token.address,
      network: token.network,
      symbol: token.symbol,
      previous_risk_score: isWorse ? low : high,
      current_risk_score: current,
      risk_level: riskLevel(current),
      triggered_checks: triggered,
      ai_summary: `Risk score of ${token.symbol} moved from ${isWorse ? low : high} to ${current}; ${cause}.`,
    }
  },
  'wallet.large_trade'(cast, stream) {
    const { wallet, token } = walletAndToken(cast, stream)
    return {
      wallet_address: wallet.address,
      network: wallet.network,
      trade_type: stream.pick(['buy', 'sell', 'swap']),
      token_address: token.address,
      token_symbol: token.symbol,
      amount_usd: usd(stream, 10_000, 250_000),
      tx_hash: toTxHash(wallet.network, stream),
    }
  },
  'wallet.new_position'(cast, stream) {
    const { wallet, token } = walletAndToken(cast, stream)
    return {
      wallet_address: wallet.address,
      network: wallet.network,
      token_address: token.address,
      token_symbol: token.symbol,
      entry_price_usd: significant(token.priceUsd * stream.between(0.9, 1.1, 4)),
      amount_usd: usd(stream, 50, 20_000),
      tx_hash: toTxHash(wallet.network, stream),
    }
  },
  'wallet.pnl_milestone'(cast, stream) {
    const wallet = stream.pick(cast.wallets)
    const sign = stream.uniform() < 0.65 ? 1 : -1
    const milestone = stream.pick(milestonesUsd)
    return {
      wallet_address: wallet.address,
      network: wallet.network,
      milestone_usd: sign * milestone,
      realized_pnl_usd: round(sign * milestone * stream.between(1, 1.08, 4), 2),
      roi_pct: sign * stream.between(3, 95, 2),
      timeframe: 'all',
    }
  },
  'contract.honeypot_detected'(cast, stream) {
    const { network } = stream.pick(cast.tokens)
    const { symbol } = freshToken(stream)
    const kind = stream.pick(honeypots)
    return {
      contract_address: toAddress(network, stream.bytes()),
      network,
      symbol,
      risk_score: stream.integer(80, 100),
      honeypot_type: kind,
      liquidity_usd: usd(stream, 2000, 60_000),
      holder_count: stream.integer(12, 900),
      ai_summary: `A simulated sale of ${symbol} fails (${kind}): buyers cannot sell.`,
    }
  },
  'contract.liquidity_removed'(cast, stream) {
    const token = stream.pick(cast.tokens)
    const percent = stream.between(20, 98, 2)
    return {
      contract_address: token.address,
      network: token.network,
      symbol: token.symbol,
      pool_address: token.pool,
      liquidity_removed_usd: round((token.liquidityUsd * percent) / 100, 2),
      liquidity_removed_pct: percent,
      remaining_liquidity_usd: round((token.liquidityUsd * (100 - percent)) / 100, 2),
      tx_hash: toTxHash(token.network, stream),
    }
  },
  'contract.ownership_changed'(cast, stream) {
    const token = stream.pick(cast.tokens)
    const isRenounced = token.network !== 'solana' && stream.uniform() < 0.4
    return {
      contract_address: token.address,
      network: token.network,
      symbol: token.symbol,
      previous_owner: token.owner,
      new_owner: isRenounced ? zeroAddress : toAddress(token.network, stream.bytes()),
      tx_hash: toTxHash(token.network, stream),
    }
  },
  'pump.graduation'(_cast, stream) {
    return {
      token_address: toPumpMint(stream.bytes()),
      ...freshToken(stream),
      bonding_curve_completed: true,
      // What the curve has raised when it completes is the same whatever the path of buys.
      sol_raised: 85.005359057,
      raydium_pool: toAddress('solana', stream.bytes()),
      migration_tx: toTxHash('solana', stream),
    }
  },
}

function walletAndToken(cast: Cast, stream: RandomStream): { wallet: CastWallet; token: CastToken } {
  const wallet = stream.pick(cast.wallets)
  return { wallet, token: stream.pick(cast.tokens.filter((token) => token.network === wallet.network)) }
}

/** Dollars to the cent; one amount in five is a whole number, as people like to trade them. */
function usd(stream: RandomStream, low: number, high: number): number {
  const amount = stream.between(low, high, 2)
  return stream.uniform() < 0.2 ? Math.ceil(amount / 100) * 100 : amount
}

/** Eight significant digits, as prices far below a cent need. */
function significant(value: number): number {
  return Number(value.toPrecision(8))
}

function riskLevel(score: number): string {
  if (score < 25) return 'low'
  if (score < 50) return 'medium'
  return score < 75 ? 'high' : 'critical'
}
