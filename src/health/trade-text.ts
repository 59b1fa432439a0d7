import type { Trade } from '../client/index.ts'
import { formatAmount, formatText, formatUsd } from '../base/format-values.ts'

const longestType = 16
const longestSymbol = 24

/** A trade for people, such as `buy 12 ABC for $340.00`: all of it may be missing or odd, and it is safe to show. */
export function tradeText(trade: Trade): string {
  const { type, token_in: paid, token_out: received } = trade as Partial<Trade>
  const isSale = type === 'sell'
  const side = isSale ? paid : received
  const what = `${formatAmount(side?.amount, 9)} ${formatText(side?.symbol, longestSymbol)}`
  const from = type === 'swap' ? `${formatAmount(paid?.amount, 9)} ${formatText(paid?.symbol, longestSymbol)} to ` : ''
  return `${formatText(type, longestType)} ${from}${what} for ${formatUsd(side?.value_usd)}`.toWellFormed()
}
