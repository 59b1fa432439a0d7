import { styleText } from 'node:util'
import type { AnyEvent, EventType } from '../../schema/index.ts'
import type { InternalEventType } from '../../schema/internal.ts'
import {
  formatAmount,
  formatPercent,
  formatText,
  formatTime,
  formatUsd,
  shortAddress,
  type NumberStyle,
} from '../base/format-values.ts'

export { formatAmount, formatPercent, formatText, formatTime, formatUsd, shortAddress }
export type { NumberStyle }

export interface FormatOptions {
  /** ANSI colours for a terminal. Default: false. */
  readonly color?: boolean
}

/** `data` as received: any field may be missing or of another type than documented. */
type Fields = Readonly<Record<string, unknown>>
type Tone = 'green' | 'red' | 'yellow' | 'cyan'

interface Wording {
  readonly tone: Tone
  /** The parts of the sentence after time, type and network. */
  readonly parts: (data: Fields) => readonly string[]
}

const tx = (value: unknown): string => `tx ${shortAddress(value)}`
const summary = (value: unknown): readonly string[] => (isText(value) ? [`“${formatText(value, 120)}”`] : [])
const tradeWords: Fields = { buy: 'bought', sell: 'sold', swap: 'swapped' }
const alertWords: Fields = { price_above: 'above', price_below: 'below' }

/** Wording of each documented type (R93–R102). */
const wordings: Readonly<Record<EventType, Wording>> = {
  'token.price_alert': {
    tone: 'yellow',
    parts: (data) => [
      `${formatText(data.symbol)} at ${formatUsd(data.current_price_usd)}, ${wordFor(alertWords, data.alert_type)} ${formatUsd(data.threshold_usd)}`,
      `${formatPercent(data.change_pct_24h)} in 24h`,
      shortAddress(data.token_address),
    ],
  },
  'token.new_listing': {
    tone: 'green',
    parts: (data) => [
      `${formatText(data.symbol)} (${formatText(data.name)}) listed on ${formatText(data.dex)} with ${formatUsd(data.initial_liquidity_usd)}`,
      shortAddress(data.token_address),
      `pool ${shortAddress(data.pool_address)}`,
      tx(data.listing_tx),
    ],
  },
  'token.risk_change': {
    tone: 'yellow',
    parts: (data) => [
      `${formatText(data.symbol)} risk ${formatAmount(data.previous_risk_score)} → ${formatAmount(data.current_risk_score)} (${formatText(data.risk_level)})`,
      `checks: ${listOf(data.triggered_checks)}`,
      shortAddress(data.token_address),
      ...summary(data.ai_summary),
    ],
  },
  'wallet.large_trade': {
    tone: 'cyan',
    parts: (data) => [
      `${shortAddress(data.wallet_address)} ${wordFor(tradeWords, data.trade_type)} ${formatText(data.token_symbol)} for ${formatUsd(data.amount_usd)}`,
      `token ${shortAddress(data.token_address)}`,
      tx(data.tx_hash),
    ],
  },
  'wallet.new_position': {
    tone: 'cyan',
    parts: (data) => [
      `${shortAddress(data.wallet_address)} opened ${formatText(data.token_symbol)}: ${formatUsd(data.amount_usd)} at ${formatUsd(data.entry_price_usd)}`,
      `token ${shortAddress(data.token_address)}`,
      tx(data.tx_hash),
    ],
  },
  'wallet.pnl_milestone': {
    tone: 'cyan',
    parts: (data) => [
      `${shortAddress(data.wallet_address)} realized ${formatUsd(data.realized_pnl_usd, { sign: 'always' })}, past ${formatUsd(data.milestone_usd, { sign: 'always' })}`,
      `ROI ${formatPercent(data.roi_pct)}`,
      `timeframe ${formatText(data.timeframe)}`,
    ],
  },
  'contract.honeypot_detected': {
    tone: 'red',
    parts: (data) => [
      `${formatText(data.symbol)} is a honeypot (${formatText(data.honeypot_type)}), risk ${formatAmount(data.risk_score)}`,
      `${formatAmount(data.holder_count)} holders, ${formatUsd(data.liquidity_usd)} liquidity`,
      shortAddress(data.contract_address),
      ...summary(data.ai_summary),
    ],
  },
  'contract.liquidity_removed': {
    tone: 'red',
    parts: (data) => [
      `${formatText(data.symbol)} lost ${formatUsd(data.liquidity_removed_usd)} of liquidity (${formatPercent(data.liquidity_removed_pct, { sign: 'never' })}), ${formatUsd(data.remaining_liquidity_usd)} left`,
      shortAddress(data.contract_address),
      `pool ${shortAddress(data.pool_address)}`,
      tx(data.tx_hash),
    ],
  },
  'contract.ownership_changed': {
    tone: 'red',
    parts: (data) => [
      `${formatText(data.symbol)} owner ${shortAddress(data.previous_owner)} → ${shortAddress(data.new_owner)}${isZero(data.new_owner) ? ' (renounced)' : ''}`,
      shortAddress(data.contract_address),
      tx(data.tx_hash),
    ],
  },
  'pump.graduation': {
    tone: 'green',
    parts: (data) => [
      `${formatText(data.symbol)} (${formatText(data.name)}) graduated with ${formatAmount(data.sol_raised, 9)} SOL${data.bonding_curve_completed === false ? ', curve not completed' : ''}`,
      shortAddress(data.token_address),
      `pool ${shortAddress(data.raydium_pool)}`,
      tx(data.migration_tx),
    ],
  },
}

const levelTones: Readonly<Record<string, Tone>> = { critical: 'red', warning: 'yellow' }

/** Wording of internal events. */
const internalWordings: ReadonlyMap<unknown, (data: Fields) => Wording> = new Map(
  (['inbox.warning', 'inbox.resolved'] satisfies InternalEventType[]).map((type) => [
    type,
    (data) => internalWording(type, data),
  ]),
)

function internalWording(type: InternalEventType, { level, title, subject, replica }: Fields): Wording {
  const isOver = type === 'inbox.resolved'
  const words = `${isOver ? 'over' : formatText(level, 16)}: ${formatText(title, 300)}`
  return {
    tone: isOver ? 'green' : (levelTones[String(level)] ?? 'cyan'),
    parts: () => [
      words,
      ...(isText(subject) ? [formatText(subject, 120)] : []),
      ...(isText(replica) ? [`replica ${formatText(replica, 60)}`] : []),
    ],
  }
}

const typeWidth = Math.max(...Object.keys(wordings).map((type) => type.length))
const networkWidth = 'avalanche'.length

/**
 * Formats any event as one line, undocumented types included (R92–R102, R127): time in UTC, type, network and a
 * summary. Text of the event is made safe for a terminal. Missing or malformed fields show as `?`. Never throws.
 */
export function formatEvent(event: AnyEvent, options: FormatOptions = {}): string {
  const { type: rawType, created_at: createdAt, data: rawData } = isObject(event) ? event : ({} as Fields)
  const data = isObject(rawData) ? rawData : {}
  const known =
    internalWordings.get(rawType)?.(data) ??
    (isText(rawType) && Object.hasOwn(wordings, rawType) ? wordings[rawType as EventType] : undefined)
  const time = `${formatTime(createdAt)} UTC`
  const type = formatText(rawType, 64).padEnd(typeWidth)
  // This type has no network field and happens on Solana only (R102).
  const place = data.network ?? (rawType === 'pump.graduation' ? 'solana' : undefined)
  const network = (internalWordings.has(rawType) ? '' : formatText(place, 24)).padEnd(networkWidth)
  const text = (known ? known.parts(data) : scalarsOf(data)).join(' · ')
  const paint = (format: Tone | 'dim', part: string) =>
    options.color === true ? styleText(format, part, { validateStream: false }) : part
  return `${paint('dim', time)}  ${paint(known?.tone ?? 'dim', type)}  ${paint('dim', network)}  ${text}`.toWellFormed()
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isZero(address: unknown): boolean {
  return isText(address) && /^(?:0x0{40}|1{32})$/.test(address)
}

function wordFor(words: Fields, value: unknown): string {
  return formatText(isText(value) && Object.hasOwn(words, value) ? words[value] : value)
}

function listOf(values: unknown): string {
  if (!Array.isArray(values)) return '?'
  const shown = values.slice(0, 5).map((value) => formatText(value))
  return (
    [...shown, ...(values.length > shown.length ? [`${values.length - shown.length} more`] : [])].join(', ') || 'none'
  )
}

/** For undocumented types: the first fields, formatted by the suffix of their names. */
function scalarsOf(data: Fields): readonly string[] {
  return Object.entries(data)
    .filter(([key, value]) => key !== 'network' && ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, 6)
    .map(([key, value]) => `${formatText(key, 32)}=${scalarOf(key, value)}`)
}

function scalarOf(key: string, value: unknown): string {
  if (/(?:^|_)(?:address|tx|hash|pool|owner)$/.test(key)) return shortAddress(value)
  if (/(?:^|_)usd$/.test(key)) return formatUsd(value)
  if (/(?:^|_)pct(?:_|$)/.test(key)) return formatPercent(value)
  return formatText(String(value))
}
