import type { AnyEvent } from 'onchain-inbox'
import { formatAmount, formatPercent, formatText, formatUsd, shortAddress } from 'onchain-inbox/format'

export type Severity = 'info' | 'warning' | 'critical'
type Fact = readonly [label: string, value: string]
type Data = Readonly<Record<string, unknown>>

/** What is to be said of an event, for whatever shows it. Its text is on one line and safe to show, but not escaped for markup. */
export interface Message {
  readonly title: string
  /** What the title does not say. */
  readonly facts: readonly Fact[]
  readonly severity: Severity
  readonly links: readonly ExplorerLink[]
  /** When the event was created, as it says: RFC 3339. */
  readonly time: string
  readonly type: string
  readonly network: string | null
  readonly eventId: string
  /** More to say, on lines of its own; safe to show like the rest. */
  readonly text?: string
}

interface Wording {
  readonly title: string
  /** Default: info. */
  readonly severity?: Severity
  /** Beside addresses and transactions, which follow from the fields. */
  readonly facts?: readonly Fact[]
}

/** Where the service's levels of risk begin that are worth a look, and an alarm. */
const highRisk = 50
const criticalRisk = 75
const longestText = 1_000

const text = (value: unknown): string => formatText(value, 64)
const summaryFacts = (value: unknown): readonly Fact[] =>
  typeof value === 'string' && value !== '' ? [['summary', formatText(value, longestText)]] : []

/** By type (R93–R102). A map, because an event can come with any type, `constructor` too. */
const wordings: ReadonlyMap<string, (data: Data) => Wording> = new Map<string, (data: Data) => Wording>([
  [
    'token.price_alert',
    (data) => ({
      title: `${text(data.symbol)} is at ${formatUsd(data.current_price_usd)}, ${alertWord(data.alert_type)} ${formatUsd(data.threshold_usd)}`,
      facts: [['24h', formatPercent(data.change_pct_24h)]],
    }),
  ],
  [
    'token.new_listing',
    (data) => ({
      title: `${text(data.symbol)} (${text(data.name)}) is listed on ${text(data.dex)} with ${formatUsd(data.initial_liquidity_usd)}`,
    }),
  ],
  [
    'token.risk_change',
    (data) => ({
      title: `The risk of ${text(data.symbol)} went from ${formatAmount(data.previous_risk_score)} to ${formatAmount(data.current_risk_score)} (${text(data.risk_level)})`,
      severity: severityOfRisk(data),
      facts: [['checks', listOf(data.triggered_checks)], ...summaryFacts(data.ai_summary)],
    }),
  ],
  [
    'wallet.large_trade',
    (data) => ({
      title: `${shortAddress(data.wallet_address)} ${tradeWord(data.trade_type)} ${text(data.token_symbol)} for ${formatUsd(data.amount_usd)}`,
    }),
  ],
  [
    'wallet.new_position',
    (data) => ({
      title: `${shortAddress(data.wallet_address)} opened a position in ${text(data.token_symbol)}: ${formatUsd(data.amount_usd)} at ${formatUsd(data.entry_price_usd)}`,
    }),
  ],
  [
    'wallet.pnl_milestone',
    (data) => ({
      title: `${shortAddress(data.wallet_address)} has realized ${formatUsd(data.realized_pnl_usd, { sign: 'always' })}, past ${formatUsd(data.milestone_usd, { sign: 'always' })}`,
      facts: [
        ['ROI', formatPercent(data.roi_pct)],
        ['timeframe', text(data.timeframe)],
      ],
    }),
  ],
  [
    'contract.honeypot_detected',
    (data) => ({
      title: `${text(data.symbol)} is a honeypot (${text(data.honeypot_type)}), risk ${formatAmount(data.risk_score)}`,
      severity: 'critical',
      facts: [
        ['holders', formatAmount(data.holder_count)],
        ['liquidity', formatUsd(data.liquidity_usd)],
        ...summaryFacts(data.ai_summary),
      ],
    }),
  ],
  [
    'contract.liquidity_removed',
    (data) => ({
      title: `${text(data.symbol)} lost ${formatUsd(data.liquidity_removed_usd)} of liquidity (${formatPercent(data.liquidity_removed_pct, { sign: 'never' })}), ${formatUsd(data.remaining_liquidity_usd)} is left`,
      severity: 'critical',
    }),
  ],
  [
    'contract.ownership_changed',
    (data) => ({
      title: isNobody(data.new_owner)
        ? `The ownership of ${text(data.symbol)} was renounced by ${shortAddress(data.previous_owner)}`
        : `The ownership of ${text(data.symbol)} went from ${shortAddress(data.previous_owner)} to ${shortAddress(data.new_owner)}`,
      severity: isNobody(data.new_owner) ? 'info' : 'warning',
    }),
  ],
  [
    'pump.graduation',
    (data) => ({
      title: `${text(data.symbol)} (${text(data.name)}) graduated with ${formatAmount(data.sol_raised, 9)} SOL`,
      facts: data.bonding_curve_completed === false ? [['bonding curve', 'not completed']] : [],
    }),
  ],
])

/**
 * Words an event for people (R92–R102, R127): of a type that nobody has worded yet, its type and its first fields. A missing or
 * odd field shows as `?`; it never throws.
 */
export function toMessage(event: AnyEvent): Message {
  const ofOurs = toOwnMessage(event)
  if (ofOurs !== undefined) return ofOurs
  const data = event.data as Data
  const worded = wordings.get(event.type)?.(data)
  const { title, severity = 'info', facts = [] } = worded ?? unknownWording(event.type, data)
  const network = networkOf(event)
  return {
    title: title.toWellFormed(),
    facts: [...facts, ...(worded === undefined ? [] : addressFacts(data))].map(
      ([label, value]) => [label, value.toWellFormed()] as const,
    ),
    severity,
    links: explorerLinks(event),
    time: event.created_at,
    type: event.type,
    network: network === null ? null : formatText(network, 24).toWellFormed(),
    eventId: event.id,
  }
}

function unknownWording(type: string, data: Data): Wording {
  const facts = Object.entries(data)
    .filter(([name, value]) => name !== 'network' && ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, 8)
    .map(([name, value]): Fact => [formatText(name, 32).toWellFormed(), formatText(String(value), 128)])
  return { title: text(type), facts }
}

/** In the order of the event. */
function addressFacts(data: Data): Fact[] {
  return Object.entries(data).flatMap(([name, value]) => {
    const [, label] = fields.find(([field]) => field === name) ?? []
    return label !== undefined && typeof value === 'string' && value !== '' ? [[label, formatText(value, 128)]] : []
  })
}

function alertWord(value: unknown): string {
  if (value === 'price_above') return 'above'
  return value === 'price_below' ? 'below' : text(value)
}

function tradeWord(value: unknown): string {
  if (value === 'buy') return 'bought'
  if (value === 'sell') return 'sold'
  return value === 'swap' ? 'swapped' : text(value)
}

function severityOfRisk({ previous_risk_score: before, current_risk_score: now }: Data): Severity {
  if (typeof now !== 'number' || (typeof before === 'number' && now <= before) || now < highRisk) return 'info'
  return now < criticalRisk ? 'warning' : 'critical'
}

function listOf(values: unknown): string {
  if (!Array.isArray(values)) return '?'
  const shown = values.slice(0, 10).map((value) => formatText(value))
  const more = values.length > shown.length ? [`${values.length - shown.length} more`] : []
  return [...shown, ...more].join(', ') || 'none'
}

/** The address that stands for no owner. */
function isNobody(address: unknown): boolean {
  return typeof address === 'string' && /^(?:0x0{40}|1{32})$/.test(address)
}

/** What a warning of the inbox itself has beside other events. */
interface OwnWarning {
  /** The same for all events of one warning. */
  readonly incident: string
  readonly isOver: boolean
  /** Of the warning, also when it is over. */
  readonly level: Severity
}

const longestTitle = 300
const longestOwnText = 4_000
const levels: readonly Severity[] = ['info', 'warning', 'critical']

/** Whether an event is a warning of the inbox itself: null if it is none. */
export function toOwnWarning({ id, type, data }: AnyEvent): OwnWarning | null {
  if (type !== 'inbox.warning' && type !== 'inbox.resolved') return null
  const { level } = data as Readonly<Record<string, unknown>>
  return {
    incident: id.replace(/:(?:critical|resolved)$/, ''),
    isOver: type === 'inbox.resolved',
    level: levels.find((known) => known === level) ?? 'warning',
  }
}

/** Words such a warning for people: undefined if the event is none. A missing or odd field shows as `?`; it never throws. */
function toOwnMessage(event: AnyEvent): Message | undefined {
  const warning = toOwnWarning(event)
  if (warning === null) return undefined
  const { title, subject, text, since, url } = event.data as Readonly<Record<string, unknown>>
  const shown = formatText(title, longestTitle)
  return {
    title: (warning.isOver ? `Over: ${shown}` : shown).toWellFormed(),
    facts: [
      ...(typeof subject === 'string' && subject !== ''
        ? [['about', formatText(subject, longestTitle).toWellFormed()] as const]
        : []),
      ['since', formatText(since, 40).toWellFormed()],
    ],
    severity: warning.isOver ? 'info' : warning.level,
    links: isWebAddress(url) ? [{ label: 'console', url }] : [],
    time: event.created_at,
    type: event.type,
    network: null,
    eventId: event.id,
    // When it is over nothing is to be done.
    ...(typeof text === 'string' && text !== '' && !warning.isOver && { text: linesOf(text) }),
  }
}

function linesOf(text: string): string {
  const lines = text.slice(0, longestOwnText).split('\n')
  return lines.map((line) => (line === '' ? '' : formatText(line, longestOwnText).toWellFormed())).join('\n')
}

function isWebAddress(url: unknown): url is string {
  return typeof url === 'string' && /^https?:\/\/[^\s<>"'|)\]]{1,500}$/.test(url)
}

export interface ExplorerLink {
  readonly label: string
  readonly url: string
}

type Kind = 'address' | 'tx' | 'token'

interface Explorer {
  readonly base: string
  readonly paths: Readonly<Record<Kind, string>>
  readonly shapes: Readonly<Record<Kind, RegExp>>
}

const evmAddress = /^0x[0-9a-fA-F]{40}$/
const base58 = '[1-9A-HJ-NP-Za-km-z]'
const solanaAddress = new RegExp(`^${base58}{32,44}$`)

function evm(base: string): Explorer {
  return {
    base,
    paths: { address: 'address', tx: 'tx', token: 'token' },
    shapes: { address: evmAddress, tx: /^0x[0-9a-fA-F]{64}$/, token: evmAddress },
  }
}

/** One for each network of the service (R4). */
const explorers: ReadonlyMap<string, Explorer> = new Map([
  ['ethereum', evm('https://etherscan.io')],
  ['bnb', evm('https://bscscan.com')],
  ['polygon', evm('https://polygonscan.com')],
  ['base', evm('https://basescan.org')],
  ['avalanche', evm('https://snowtrace.io')],
  ['arbitrum', evm('https://arbiscan.io')],
  [
    'solana',
    {
      base: 'https://solscan.io',
      paths: { address: 'account', tx: 'tx', token: 'token' },
      shapes: { address: solanaAddress, tx: new RegExp(`^${base58}{64,88}$`), token: solanaAddress },
    },
  ],
])

/** Fields of `data` that an explorer has a page on, what the link is called, and the kind of page. In the order of the links. */
const fields: readonly (readonly [field: string, label: string, kind: Kind])[] = [
  ['tx_hash', 'transaction', 'tx'],
  ['listing_tx', 'transaction', 'tx'],
  ['migration_tx', 'transaction', 'tx'],
  ['token_address', 'token', 'token'],
  ['contract_address', 'contract', 'address'],
  ['wallet_address', 'wallet', 'address'],
  ['pool_address', 'pool', 'address'],
  ['raydium_pool', 'pool', 'address'],
  ['previous_owner', 'previous owner', 'address'],
  ['new_owner', 'new owner', 'address'],
]

/** The network of an event as it says it; the one type without that field happens on Solana only (R102). Null: none. */
export function networkOf({ type, data }: AnyEvent): string | null {
  const { network } = data as Readonly<Record<string, unknown>>
  if (typeof network === 'string' && network !== '') return network
  return type === 'pump.graduation' ? 'solana' : null
}

/**
 * Pages of the network's block explorer on what the event is about. What is no address or transaction of that network gets no
 * link, and a link leads to no other host, whatever the event holds.
 */
export function explorerLinks(event: AnyEvent): readonly ExplorerLink[] {
  const explorer = explorers.get(networkOf(event) ?? '')
  if (explorer === undefined) return []
  const data = event.data as Readonly<Record<string, unknown>>
  return fields.flatMap(([field, label, kind]) => {
    const value = Object.hasOwn(data, field) ? data[field] : undefined
    if (typeof value !== 'string' || !explorer.shapes[kind].test(value)) return []
    return [{ label, url: `${explorer.base}/${explorer.paths[kind]}/${value}` }]
  })
}
