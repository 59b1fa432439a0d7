import { type NetworkId, networkIds } from '../../../schema/index.ts'
import { coinAddress, parseAddress } from './addresses.ts'
import { liquidityMicro, riskLevel } from './audit.ts'
import type { Timeframe } from '../../../schema/rest/parameters.ts'
import { type Core, coinPrice, holdersOf, tokenAt, walletAt, placeOf } from './core.ts'
import { networkFacts } from './networks.ts'
import { toAmount, toUsd } from './numbers.ts'
import { pageByKey, overviewOf, pnlOf, portfolioOf } from './portfolio.ts'
import type { Page, PageRequest, PnlSummary, Ref, Token, Trade, TradeSide } from './port.ts'
import type { Rules } from './state.ts'
import { changePct, priceUsd, volume24h, worth } from './prices.ts'
import type { Leg, LoggedTrade } from './trade-log.ts'

/** Read access for REST, all from this one ledger (R16–R29, R105). Addresses are canonical, as from `parseAddress`. */
export function createViews(core: Core) {
  const refTo = ({ network, address }: Omit<Ref, 'index'>, index: number): Ref => ({ network, address, index })
  return {
    /** A wallet that was seen (A11); null otherwise. */
    findWallet(network: NetworkId, address: string): Ref | null {
      const index = core.directory.wallets.get(placeOf(network, address))
      const isSeen = index !== undefined && walletAt(core, index).seenAt !== null
      return isSeen ? { network, address, index } : null
    },
    findToken(network: NetworkId, address: string): Ref | null {
      const index = core.directory.tokens.get(placeOf(network, address))
      return index === undefined ? null : { network, address, index }
    },
    networkStatus: (network: NetworkId) => core.state.networks[network].status,
    overview: ({ index }: Ref) => overviewOf(core, index),
    /** In the order in which the tokens were first acquired, prices as of `asOf` (A59). */
    portfolio: ({ index }: Ref, page: PageRequest) => portfolioOf(core, index, page),
    pnl: ({ index }: Ref, timeframe: Timeframe): PnlSummary => {
      const { address, network } = walletAt(core, index)
      return { wallet: address, network, timeframe, pnl: pnlOf(core, index, timeframe) }
    },
    /** Newest first (A21). With `token` (an address of the network), only trades of it (R56). */
    trades: ({ index }: Ref, page: PageRequest, token: string | null) => tradesOf(core, index, page, token),
    token: ({ index }: Ref) => tokenView(core, index),
    /** Oldest first; case-insensitive part of symbol or name, or the exact address (A20). */
    searchTokens(q: string, network: NetworkId | null, page: PageRequest): Page<Token> {
      const byAddress = tokensAtAddress(core, q)
      const all = byAddress.length > 0 ? byAddress : tokensNamed(core, q)
      const matching = network === null ? all : all.filter((index) => tokenAt(core, index).network === network)
      const existed = matching.filter((index) => tokenAt(core, index).createdSeq <= page.asOf.seq)
      const { shown, lastKey } = pageByKey(existed, (index) => index, page)
      return { items: shown.map((index) => tokenView(core, index)), lastKey, total: matching.length }
    },
    /** Configurable thresholds of events (A34). */
    thresholds: (): Readonly<Rules> => ({ ...core.state.rules }),
    // For the control API.
    trackedWallets: () =>
      core.state.wallets.flatMap((wallet, index) => (wallet.isTracked ? [refTo(wallet, index)] : [])),
    tokens: () => core.state.tokens.map(refTo),
    wallets: () =>
      core.state.wallets.map((wallet, index) => ({
        ...refTo(wallet, index),
        archetype: wallet.archetype,
        tradeCount: core.trades.ofWallet(index).length,
      })),
  }
}

const minAddressLength = 32
/** Exchange of tokens without a pool. */
const launchPlatform = 'Pump.fun'

/** Tokens with exactly this address; EVM addresses in any case. */
function tokensAtAddress(core: Core, text: string): readonly number[] {
  if (text.length < minAddressLength) return []
  return networkIds.flatMap((network) => {
    const parsed = parseAddress(network, text)
    const index = parsed.ok ? core.directory.tokens.get(placeOf(network, parsed.address)) : undefined
    return index === undefined ? [] : [index]
  })
}

/** Tokens with this text in their symbol or name, case-insensitive. */
function tokensNamed({ state }: Core, part: string): readonly number[] {
  const wanted = part.toLowerCase()
  return state.tokens.flatMap(({ symbol, name }, index) =>
    symbol.toLowerCase().includes(wanted) || name.toLowerCase().includes(wanted) ? [index] : [],
  )
}

/** A7 */
function tokenView(core: Core, token: number): Token {
  const { address, network, symbol, name, decimals, supply, risk, createdAt } = tokenAt(core, token)
  return {
    address,
    network,
    symbol,
    name,
    decimals,
    price_usd: priceUsd(core, token),
    change_pct_24h: changePct(core, token),
    volume_24h_usd: toUsd(volume24h(core, token)),
    liquidity_usd: toUsd(liquidityMicro(tokenAt(core, token), coinPrice(core, network))),
    market_cap_usd: toUsd(worth(core, token, supply)),
    holder_count: holdersOf(core, token).size,
    risk_score: risk.score,
    risk_level: riskLevel(risk.score),
    created_at: new Date(createdAt).toISOString(),
  }
}

/** R28, R55, R56. The key of a trade is its log number. */
function tradesOf(core: Core, wallet: number, page: PageRequest, token: string | null): Page<Trade> {
  const { network } = walletAt(core, wallet)
  const all = core.trades.ofWallet(wallet)
  const withToken = (address: string) => all.withToken(core.directory.tokens.get(placeOf(network, address)) ?? -1)
  const list = token === null ? all : token === coinAddress(network) ? all.withCoin() : withToken(token)
  const last = page.after === null ? page.asOf.seq : Math.min(page.after - 1, page.asOf.seq)
  const count = list.countUpTo(last)
  const shown = list.slice(Math.max(0, count - page.limit), count).toReversed()
  return {
    items: shown.map((trade) => toTrade(core, network, trade)),
    lastKey: count > shown.length ? (shown.at(-1)?.seq ?? null) : null,
    total: list.length,
  }
}

function toTrade(core: Core, network: NetworkId, { at, seq, legs, impactPct }: LoggedTrade): Trade {
  const [first, second] = legs
  const isSale = first.kind === 'sale'
  const { coin, coinDecimals } = networkFacts[network]
  const coinSide: TradeSide = {
    address: coinAddress(network),
    symbol: coin,
    amount: toAmount(first.coins, coinDecimals),
    value_usd: toUsd(first.value),
  }
  const received = second ?? (isSale ? null : first)
  return {
    tx_hash: core.txHash(network, seq),
    type: second !== undefined ? 'swap' : isSale ? 'sell' : 'buy',
    timestamp: new Date(at).toISOString(),
    token_in: isSale ? tokenSide(core, first, true) : coinSide,
    token_out: received === null ? coinSide : tokenSide(core, received, false),
    dex: dexOf(core, first.token, seq),
    fee_usd: toUsd(first.fee + (second?.fee ?? 0n)),
    price_impact_pct: Math.round(impactPct * 10_000) / 10_000,
  }
}

/** Exchange of a token at change `seq`. */
function dexOf(core: Core, token: number, seq: number): string {
  const { opening, pool } = tokenAt(core, token)
  return pool !== null && opening !== null && opening.seq < seq ? pool.dex : launchPlatform
}

/** The fee counts on the paying side: value paid = value received + fee. */
function tokenSide(core: Core, { token, amount, value, fee }: Leg, isIn: boolean): TradeSide {
  const { address, symbol, decimals } = tokenAt(core, token)
  return {
    address,
    symbol,
    amount: toAmount(amount, decimals),
    value_usd: toUsd(isIn ? value + fee : value - fee),
  }
}
