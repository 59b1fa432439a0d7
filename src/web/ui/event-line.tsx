import type { EventType } from '../../../schema/index.ts'
import { exactDigits } from './exact-json.ts'
import { formatNumber, formatPercent, formatUsd, shortAddress } from './format.ts'
import { shortText } from './text.tsx'

/** `data` as received: any field may be missing or have another type than documented. */
type Fields = Readonly<Record<string, unknown>>

const number = (value: unknown) => {
  const digits = exactDigits(value)
  return digits === null ? value : Number(digits)
}
const usd = (value: unknown) => formatUsd(number(value))
const amount = (value: unknown) => formatNumber(number(value))
const percent = (value: unknown) => formatPercent(number(value))
const text = (value: unknown, max = 24) => (typeof value === 'string' && value !== '' ? shortText(value, max) : '–')
const address = (value: unknown) => text(typeof value === 'string' ? shortAddress(value) : null)
const wordOf = (words: Fields, value: unknown) =>
  typeof value === 'string' && Object.hasOwn(words, value) ? String(words[value]) : text(value)
const tradeWords: Fields = { buy: 'bought', sell: 'sold', swap: 'swapped' }
const alertWords: Fields = { price_above: 'above', price_below: 'below' }

/** One sentence per documented type (R93–R102). */
const sentences: Readonly<Record<EventType, (data: Fields) => string>> = {
  'token.price_alert': (data) =>
    `${text(data.symbol)} ${wordOf(alertWords, data.alert_type)} ${usd(data.threshold_usd)}: now ${usd(data.current_price_usd)} (${percent(data.change_pct_24h)} in 24 h)`,
  'token.new_listing': (data) =>
    `${text(data.symbol)} listed on ${text(data.dex, 60)}, ${usd(data.initial_liquidity_usd)} liquidity`,
  'token.risk_change': (data) =>
    `${text(data.symbol)} risk ${amount(data.previous_risk_score)} → ${amount(data.current_risk_score)}, ${text(data.risk_level)}`,
  'wallet.large_trade': (data) =>
    `${address(data.wallet_address)} ${wordOf(tradeWords, data.trade_type)} ${text(data.token_symbol)} for ${usd(data.amount_usd)}`,
  'wallet.new_position': (data) =>
    `${address(data.wallet_address)} opened ${text(data.token_symbol)}, ${usd(data.amount_usd)} at ${usd(data.entry_price_usd)}`,
  'wallet.pnl_milestone': (data) =>
    `${address(data.wallet_address)} passed ${usd(data.milestone_usd)}: realized ${usd(data.realized_pnl_usd)} (ROI ${percent(data.roi_pct)})`,
  'contract.honeypot_detected': (data) =>
    `${text(data.symbol)} is a honeypot (${text(data.honeypot_type, 60)}), risk ${amount(data.risk_score)}, ${amount(data.holder_count)} holders`,
  'contract.liquidity_removed': (data) =>
    `${text(data.symbol)} lost ${amount(data.liquidity_removed_pct)} % of its liquidity, ${usd(data.liquidity_removed_usd)}`,
  'contract.ownership_changed': (data) =>
    `${text(data.symbol)} owner ${address(data.previous_owner)} → ${address(data.new_owner)}`,
  'pump.graduation': (data) => `${text(data.symbol)} graduated: ${amount(data.sol_raised)} SOL raised`,
}

export interface EventLineProps {
  readonly type: string
  readonly data: unknown
}

/** An event in one sentence with rounded numbers. The title of a notification; nothing for an unknown type. */
export function EventLine({ type, data }: EventLineProps) {
  const fields: Fields = typeof data === 'object' && data !== null ? { ...data } : {}
  if (Object.hasOwn(sentences, type)) return <bdi>{sentences[type as EventType](fields)}</bdi>
  return typeof fields.title === 'string' ? <bdi>{text(fields.title, 160)}</bdi> : null
}
