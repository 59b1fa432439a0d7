import { coinAddress } from './addresses.ts'
import { placeOf, tokenAt, walletAt, type Core } from './core.ts'
import { dexName } from './dex-names.ts'
import { networkFacts } from './networks.ts'
import { toAmount, toUsd } from './numbers.ts'
import type { Page, PageRequest, TokenRef, Trade, TradeSide } from './port.ts'
import { legKinds } from './trade-log.ts'

/** R28, R55, R56; the key of a trade is its number in the log. */
export function tradesOf(core: Core, wallet: number, page: PageRequest, token: string | null): Page<Trade> {
  const { network } = walletAt(core, wallet)
  const { trades, legs } = core.trades
  const isCoin = token === coinAddress(network)
  const index = token === null ? undefined : core.directory.tokens.get(placeOf(network, token))
  if (token !== null && !isCoin && index === undefined) return { items: [], lastKey: null, total: 0 }
  const list =
    index !== undefined
      ? core.trades.ofHolding(wallet, index)
      : isCoin
        ? core.trades.ofWalletWithCoin(wallet)
        : core.trades.ofWallet(wallet)
  const rowAt = (at: number) => (index === undefined ? list.at(at) : legs.get(list.at(at), 'trade'))
  const last = page.after === null ? page.asOf.seq : Math.min(page.after - 1, page.asOf.seq)
  const count = list.countWhile((row) => trades.get(index === undefined ? row : legs.get(row, 'trade'), 'seq') <= last)
  const shown = Math.min(page.limit, count)
  const rows = Array.from({ length: shown }, (_, n) => rowAt(count - 1 - n))
  const oldest = rows.at(-1)
  return {
    items: rows.map((row) => toTrade(core, row)),
    lastKey: count > shown && oldest !== undefined ? trades.get(oldest, 'seq') : null,
    total: list.length,
  }
}

function toTrade(core: Core, row: number): Trade {
  const { trades } = core.trades
  const first = trades.get(row, 'leg')
  const isSwap = trades.get(row, 'legCount') > 1
  const { network } = walletAt(core, trades.get(row, 'wallet'))
  const { legs } = core.trades
  const isSale = legs.get(first, 'kind') === legKinds.sale
  const leg = (at: number, isIn: boolean) => tokenSide(core, at, isIn)
  const coin = coinSide(core, network, first)
  const fee = legs.get(first, 'fee') + (isSwap ? legs.get(first + 1, 'fee') : 0n)
  return {
    tx_hash: core.txHash(network, trades.get(row, 'seq')),
    type: isSwap ? 'swap' : isSale ? 'sell' : 'buy',
    timestamp: new Date(trades.get(row, 'at')).toISOString(),
    token_in: isSale ? leg(first, true) : coin,
    token_out: isSwap ? leg(first + 1, false) : isSale ? coin : leg(first, false),
    dex: dexName(legs.get(first, 'dex')),
    fee_usd: toUsd(fee),
    price_impact_pct: Math.round(trades.get(row, 'impactPct') * 10_000) / 10_000,
  }
}

/** What is paid is worth what is received and the fee. */
function tokenSide(core: Core, leg: number, isIn: boolean): TradeSide {
  const { legs } = core.trades
  const { address, symbol, decimals } = tokenAt(core, legs.get(leg, 'token'))
  const value = legs.get(leg, 'value')
  const fee = legs.get(leg, 'fee')
  return {
    address,
    symbol,
    amount: toAmount(legs.get(leg, 'amount'), decimals),
    value_usd: toUsd(isIn ? value + fee : value - fee),
  }
}

function coinSide(core: Core, network: TokenRef['network'], leg: number): TradeSide {
  const { coin, coinDecimals } = networkFacts[network]
  const { legs } = core.trades
  return {
    address: coinAddress(network),
    symbol: coin,
    amount: toAmount(legs.get(leg, 'coins'), coinDecimals),
    value_usd: toUsd(legs.get(leg, 'value')),
  }
}
