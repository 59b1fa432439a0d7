import { safeText } from './safe-text.ts'

// These functions accept any value, show `?` if they can't read it, and never throw.

export interface NumberStyle {
  /** `always` adds a plus sign; `never` omits the minus sign, too. Default: `always` for percent, minus only for USD. */
  readonly sign?: 'always' | 'never'
}

const smallest = 1e-18
const largest = 1e15

const cents = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const fourDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 })
const wholes = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0, signDisplay: 'negative' })
const ninePlaces = new Intl.NumberFormat('en-US', { maximumFractionDigits: 9, signDisplay: 'negative' })

/** Formats USD: `$12,345.67`; below one dollar four significant digits (`$0.0000001234`), never `1e-7`. */
export function formatUsd(value: unknown, style: NumberStyle = {}): string {
  const number = toNumber(value)
  if (number === undefined) return '$?'
  const size = Math.abs(number)
  if (size > 0 && size < smallest) return `${signOf(number, style.sign)}<$0.000000000000000001`
  return `${signOf(number, style.sign)}$${magnitude(size)}`
}

/** Formats percent with two decimals and a sign: `+12.30%`, `-4.00%`, `0.00%`. */
export function formatPercent(value: unknown, style: NumberStyle = {}): string {
  const number = toNumber(value)
  if (number === undefined) return '?%'
  const size = Math.abs(number)
  const digits = size >= largest ? size.toExponential(3) : cents.format(size)
  return `${digits === '0.00' ? '' : signOf(number, style.sign ?? 'always')}${digits}%`
}

/** Formats a count or an amount of coins: `1,234`, `85.123456789`. `digits`: maximum number of decimals. */
export function formatAmount(value: unknown, digits: 0 | 9 = 0): string {
  const number = toNumber(value)
  if (number === undefined) return '?'
  if (Math.abs(number) >= largest) return number.toExponential(3)
  return (digits === 0 ? wholes : ninePlaces).format(number)
}

/** Shortens an address or transaction in the middle: `0x5aAe…BeAed`, `7xKX…gAsU`. Short ones stay whole. */
export function shortAddress(value: unknown): string {
  if (typeof value !== 'string' || value === '') return '?'
  const [head, tail] = value.startsWith('0x') ? [6, 5] : [4, 4]
  if (value.length <= head + tail + 1) return safeText(value)
  return `${safeText(value.slice(0, head))}…${safeText(value.slice(-tail))}`
}

/** Time of day of an RFC 3339 UTC timestamp: `14:03:22` (A4). */
export function formatTime(createdAt: unknown): string {
  const match =
    typeof createdAt === 'string' ? /^[^Tt]{10}[Tt](\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|[+-]00:00)$/.exec(createdAt) : null
  return match?.[1] ?? '--:--:--'
}

/** External text on one line: control and bidi characters escaped, cut after `maxLength` characters. */
export function formatText(value: unknown, maxLength = 40): string {
  return typeof value === 'string' && value !== '' ? safeText(value, maxLength) : '?'
}

function magnitude(size: number): string {
  if (size >= largest) return size.toExponential(3)
  if (size === 0 || size >= 1) return cents.format(size)
  const digits = fourDigits.format(size)
  return digits.length < 4 ? Number(digits).toFixed(2) : digits
}

function signOf(number: number, sign: NumberStyle['sign']): string {
  if (number === 0 || sign === 'never') return ''
  if (number < 0) return '-'
  return sign === 'always' ? '+' : ''
}

/** Accepts numbers in decimal text, because payloads drift that way. */
function toNumber(value: unknown): number | undefined {
  const isDecimal = typeof value === 'string' && /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/.test(value)
  const number = isDecimal ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}
