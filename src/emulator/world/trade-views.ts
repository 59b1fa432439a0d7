import type { NetworkId } from '../../../schema/index.ts'
import { countWhile } from '../sorted-list.ts'
import { coinAddress } from './addresses.ts'
import { placeOf, tokenAt, walletAt, type Core } from './core.ts'
import { networkFacts } from './networks.ts'
import { toAmount, toUsd } from './numbers.ts'
import type { Page, PageRequest, Trade, TradeSide } from './port.ts'
import type { Leg, LoggedTrade } from './trade-log.ts'

/** R28, R55, R56; the key of a trade is its number in the log. */
export function tradesOf(core: Core, wallet: number, page: PageRequest, token: string | null): Page<Trade> {
  const { network } = walletAt(core, wallet)
  const list = token === null ? core.trades.ofWallet(wallet) : tradesWith(core, wallet, network, token)
  const last = page.after === null ? page.asOf.seq : Math.min(page.after - 1, page.asOf.seq)
  const count = countWhile(list, (trade) => trade.seq <= last)
  const shown = list.slice(Math.max(0, count - page.limit), count).toReversed()
  return {
    items: shown.map((trade) => toTrade(core, network, trade)),
    lastKey: count > shown.length ? (shown.at(-1)?.seq ?? null) : null,
    total: list.length,
  }
}

function tradesWith(core: Core, wallet: number, network: NetworkId, address: string): readonly LoggedTrade[] {
  if (address === coinAddress(network)) return core.trades.ofWalletWithCoin(wallet)
  const token = core.directory.tokens.get(placeOf(network, address))
  return token === undefined ? [] : core.trades.ofHolding(wallet, token)
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
    dex: first.dex,
    fee_usd: toUsd(first.fee + (second?.fee ?? 0n)),
    price_impact_pct: Math.round(impactPct * 10_000) / 10_000,
  }
}

/** The value paid is the value received and the fee. */
function tokenSide(core: Core, { token, amount, value, fee }: Leg, isIn: boolean): TradeSide {
  const { address, symbol, decimals } = tokenAt(core, token)
  return {
    address,
    symbol,
    amount: toAmount(amount, decimals),
    value_usd: toUsd(isIn ? value + fee : value - fee),
  }
}
