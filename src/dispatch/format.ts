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

export type Severity = 'info' | 'warning' | 'critical'

/** A detail of an event. */
export type Fact = readonly [label: string, value: string]

/** An event in words. All text is on one line and safe for a terminal, but not escaped for markup. */
export interface EventDescription {
  readonly title: string
  readonly severity: Severity
  readonly facts: readonly Fact[]
  /** Addresses and transactions in full, in the order of the event. */
  readonly addresses: readonly Fact[]
  /** Null: none. */
  readonly network: string | null
}

/** `data` as received: any field may be missing or of another type than documented. */
type Fields = Readonly<Record<string, unknown>>

interface Wording {
  readonly title: string
  /** Default: info. */
  readonly severity?: Severity
  /** Values by label. Undefined values are skipped. Default: none. */
  readonly facts?: Readonly<Record<string, string | undefined>>
}

/** Minimum risk scores for the severities `warning` and `critical`. */
const warningRisk = 50
const criticalRisk = 75

const text = (value: unknown): string => formatText(value, 64)
const optional = (value: unknown, maxLength: number) => (isText(value) ? formatText(value, maxLength) : undefined)
const tradeWords: Fields = { buy: 'bought', sell: 'sold', swap: 'swapped' }
const alertWords: Fields = { price_above: 'above', price_below: 'below' }

/** Wording of each documented type (R93–R102) and of the inbox's own warnings. */
const wordings: Readonly<Record<EventType | InternalEventType, (data: Fields) => Wording>> = {
  'token.price_alert': (data) => ({
    title: `${text(data.symbol)} at ${formatUsd(data.current_price_usd)}, ${wordFor(alertWords, data.alert_type)} ${formatUsd(data.threshold_usd)}`,
    facts: { '24h': formatPercent(data.change_pct_24h) },
  }),
  'token.new_listing': (data) => ({
    title: `${text(data.symbol)} (${text(data.name)}) listed on ${text(data.dex)} with ${formatUsd(data.initial_liquidity_usd)}`,
  }),
  'token.risk_change': (data) => ({
    title: `${text(data.symbol)} risk ${formatAmount(data.previous_risk_score)} → ${formatAmount(data.current_risk_score)} (${text(data.risk_level)})`,
    severity: severityOfRisk(data),
    facts: { checks: listOf(data.triggered_checks), summary: optional(data.ai_summary, 1_000) },
  }),
  'wallet.large_trade': (data) => ({
    title: `${shortAddress(data.wallet_address)} ${wordFor(tradeWords, data.trade_type)} ${text(data.token_symbol)} for ${formatUsd(data.amount_usd)}`,
  }),
  'wallet.new_position': (data) => ({
    title: `${shortAddress(data.wallet_address)} opened ${text(data.token_symbol)}: ${formatUsd(data.amount_usd)} at ${formatUsd(data.entry_price_usd)}`,
  }),
  'wallet.pnl_milestone': (data) => ({
    title: `${shortAddress(data.wallet_address)} realized ${formatUsd(data.realized_pnl_usd, { sign: 'always' })}, past ${formatUsd(data.milestone_usd, { sign: 'always' })}`,
    facts: { ROI: formatPercent(data.roi_pct), timeframe: text(data.timeframe) },
  }),
  'contract.honeypot_detected': (data) => ({
    title: `${text(data.symbol)} is a honeypot (${text(data.honeypot_type)}), risk ${formatAmount(data.risk_score)}`,
    severity: 'critical',
    facts: {
      holders: formatAmount(data.holder_count),
      liquidity: formatUsd(data.liquidity_usd),
      summary: optional(data.ai_summary, 1_000),
    },
  }),
  'contract.liquidity_removed': (data) => ({
    title: `${text(data.symbol)} lost ${formatUsd(data.liquidity_removed_usd)} of liquidity (${formatPercent(data.liquidity_removed_pct, { sign: 'never' })}), ${formatUsd(data.remaining_liquidity_usd)} left`,
    severity: 'critical',
  }),
  'contract.ownership_changed': (data) => {
    const isRenounced = isText(data.new_owner) && /^(?:0x0{40}|1{32})$/.test(data.new_owner)
    return {
      title: `${text(data.symbol)} owner ${shortAddress(data.previous_owner)} → ${shortAddress(data.new_owner)}${isRenounced ? ' (renounced)' : ''}`,
      severity: isRenounced ? 'info' : 'warning',
    }
  },
  'pump.graduation': (data) => ({
    title: `${text(data.symbol)} (${text(data.name)}) graduated with ${formatAmount(data.sol_raised, 9)} SOL`,
    facts: { 'bonding curve': data.bonding_curve_completed === false ? 'not completed' : undefined },
  }),
  'inbox.warning': warningWording,
  'inbox.resolved': (data) => {
    const { title, facts } = warningWording(data)
    return { title: `Over: ${title}`, facts }
  },
}

function warningWording({ level, title, subject, replica, since }: Fields): Required<Wording> {
  return {
    title: formatText(title, 300),
    severity: level === 'info' || level === 'critical' ? level : 'warning',
    facts: {
      about: optional(subject, 300),
      replica: optional(replica, 60),
      since: optional(since, 40),
    },
  }
}

/** An undocumented type: its fields, formatted by the suffix of their names. */
function unknownWording(type: unknown, fields: readonly (readonly [string, unknown])[]): Wording {
  const facts = fields.filter(([name, value]) => !isAddress(name, value))
  return {
    title: text(type),
    facts: Object.fromEntries(facts.map(([name, value]) => [formatText(name, 32), scalarOf(name, value)])),
  }
}

/** Describes any event in words, undocumented types included (R92–R102, R127). Missing or malformed fields show as `?`. Never throws. */
export function describeEvent(event: AnyEvent): EventDescription {
  const { type, data } = fieldsOf(event)
  const isKnown = isText(type) && Object.hasOwn(wordings, type)
  const scalars = Object.entries(data).filter(([name, value]) => name !== 'network' && isScalar(value))
  const fields = isKnown ? scalars : scalars.slice(0, 6)
  const wording = isKnown ? wordings[type as keyof typeof wordings](data) : unknownWording(type, fields)
  const { title, severity = 'info', facts = {} } = wording
  const addresses = fields.filter(([name, value]) => isAddress(name, value))
  const network = networkOf(event)
  return {
    title: title.toWellFormed(),
    severity,
    facts: Object.entries(facts).flatMap(([label, value]) => (value === undefined ? [] : [toFact(label, value)])),
    addresses: addresses.map(([name, value]) => toFact(addressLabel(name), formatText(value, 128))),
    network: network === null ? null : formatText(network, 24).toWellFormed(),
  }
}

/** The network of an event; the one type without this field happens on Solana only (R102). Null: none. */
export function networkOf(event: AnyEvent): string | null {
  const { type, data } = fieldsOf(event)
  if (isText(data.network)) return data.network
  return type === 'pump.graduation' ? 'solana' : null
}

export interface FormatOptions {
  /** ANSI colours for a terminal. Default: false. */
  readonly color?: boolean
  /** Ends the line with `· replay`. A handler passes its `ctx`. Default: false. */
  readonly isReplay?: boolean
}

/** Begin and end of each style in a terminal. */
const styles = { dim: [2, 22], info: [36, 39], warning: [33, 39], critical: [31, 39] } as const
const typeWidth = Math.max(...Object.keys(wordings).map((type) => type.length))
const networkWidth = 'avalanche'.length

/**
 * Formats any event as one line: time in UTC, type, network and description. A warning of the inbox shows its level in
 * place of the network. Never throws.
 */
export function formatEvent(event: AnyEvent, options: FormatOptions = {}): string {
  const { type: rawType, created_at: createdAt } = fieldsOf(event)
  const { title, severity, facts, addresses, network } = describeEvent(event)
  const type = text(rawType)
  const networkOrLevel = network ?? (type.startsWith('inbox.') ? severity : '?')
  const shortened = addresses.map(([label, value]): Fact => [label, shortAddress(value)])
  const details = [
    ...facts.map(([label, value]) => `${label} ${formatText(value, 100)}`),
    ...shortened.filter(([, value]) => !title.includes(value)).map((fact) => fact.join(' ')),
  ]
  const notes = options.isReplay === true ? [...details, 'replay'] : details
  const summary = (title === type ? notes : [title, ...notes]).join(' · ')
  const paint = (style: keyof typeof styles, part: string) => {
    const [begin, end] = styles[style]
    return options.color === true ? `\u001b[${begin}m${part}\u001b[${end}m` : part
  }
  const time = `${formatTime(createdAt)} UTC`
  const [typeColumn, networkColumn] = [type.padEnd(typeWidth), networkOrLevel.padEnd(networkWidth)]
  return `${paint('dim', time)}  ${paint(severity, typeColumn)}  ${paint('dim', networkColumn)}  ${summary}`.toWellFormed()
}

function fieldsOf(event: unknown): { readonly type?: unknown; readonly created_at?: unknown; readonly data: Fields } {
  const fields = isObject(event) ? event : {}
  return { ...fields, data: isObject(fields.data) ? fields.data : {} }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function isAddress(key: string, value: unknown): boolean {
  return /(?:^|_)(?:address|tx|hash|pool|owner)$/.test(key) && isText(value)
}

/** `token_address` → `token`, `listing_tx` → `transaction`. */
function addressLabel(key: string): string {
  if (/(?:^|_)tx(?:_hash)?$/.test(key)) return 'transaction'
  return formatText(
    key
      .replace(/_address$/, '')
      .replace('raydium_', '')
      .replaceAll('_', ' '),
    32,
  )
}

function toFact(label: string, value: string): Fact {
  return [label.toWellFormed(), value.toWellFormed()]
}

function severityOfRisk({ previous_risk_score: before, current_risk_score: now }: Fields): Severity {
  if (typeof now !== 'number' || (typeof before === 'number' && now <= before) || now < warningRisk) return 'info'
  return now < criticalRisk ? 'warning' : 'critical'
}

function wordFor(words: Fields, value: unknown): string {
  return text(isText(value) && Object.hasOwn(words, value) ? words[value] : value)
}

function listOf(values: unknown): string {
  if (!Array.isArray(values)) return '?'
  const shown = values.slice(0, 10).map((value) => formatText(value))
  const more = values.length > shown.length ? [`${values.length - shown.length} more`] : []
  return [...shown, ...more].join(', ') || 'none'
}

function scalarOf(key: string, value: unknown): string {
  if (/(?:^|_)usd$/.test(key)) return formatUsd(value)
  if (/(?:^|_)pct(?:_|$)/.test(key)) return formatPercent(value)
  return formatText(String(value), 128)
}

const evm = { address: /^0x[0-9a-fA-F]{40}$/, transaction: /^0x[0-9a-fA-F]{64}$/, path: 'address' }
const solana = {
  address: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
  transaction: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/,
  path: 'account',
}

/** Public block explorers by network. */
const explorers = new Map<unknown, typeof evm & { readonly name: string; readonly url: string }>([
  ['ethereum', { ...evm, name: 'Etherscan', url: 'https://etherscan.io' }],
  ['bnb', { ...evm, name: 'BscScan', url: 'https://bscscan.com' }],
  ['polygon', { ...evm, name: 'PolygonScan', url: 'https://polygonscan.com' }],
  ['base', { ...evm, name: 'BaseScan', url: 'https://basescan.org' }],
  ['avalanche', { ...evm, name: 'Snowtrace', url: 'https://snowtrace.io' }],
  ['arbitrum', { ...evm, name: 'Arbiscan', url: 'https://arbiscan.io' }],
  ['solana', { ...solana, name: 'Solscan', url: 'https://solscan.io' }],
])

export type ExplorerKind = 'address' | 'token' | 'transaction'

/**
 * The page of an address or transaction in a public block explorer; null if the value is not one of that network. So an
 * event can't make a link to another host.
 */
export function explorerLink(
  kind: ExplorerKind,
  network: unknown,
  value: unknown,
): { readonly name: string; readonly href: string } | null {
  const explorer = explorers.get(network)
  if (explorer === undefined || typeof value !== 'string') return null
  const isTransaction = kind === 'transaction'
  const path = isTransaction ? 'tx' : kind === 'token' ? kind : explorer.path
  const isValid = (isTransaction ? explorer.transaction : explorer.address).test(value)
  return isValid ? { name: explorer.name, href: `${explorer.url}/${path}/${value}` } : null
}
