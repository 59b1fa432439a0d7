import { lengthText } from '../../health/words.ts'

// External values may have any type. One of the wrong type is shown as a dash.

const dash = '–'
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const plain = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 })
const precise = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 })
const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 2 })

/** A number with few digits, compact from a million on: `1,234.5`, `1.2M`. */
export function formatNumber(value: unknown): string {
  if (!isNumber(value)) return dash
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size < 1) return precise.format(value)
  if (size >= 1e6) return compact.format(value)
  return (size >= 10_000 ? whole : plain).format(value)
}

/** A count with all its digits. */
export function formatCount(value: unknown): string {
  return isNumber(value) ? whole.format(value) : dash
}

/** A count of things: `1 run`, `1,204 runs`. */
export function formatCounted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`
}

/** A size: `812 B`, `1.5 MiB`. */
export function formatBytes(bytes: unknown): string {
  if (!isNumber(bytes)) return dash
  const step = bytes < 1 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log2(bytes) / 10))
  const shown = step === 0 ? bytes : Number((bytes / 1024 ** step).toPrecision(3))
  return `${formatNumber(shown)} ${byteUnits[step]}`
}

/** Both ends of an address, hash or id. */
export function shortAddress(value: string): string {
  return value.length <= 13 ? value : `${value.slice(0, 6)}…${value.slice(-4)}`
}

/** A time in UTC: `2026-01-31 14:03:22`. */
export function formatTime(at: string | number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? dash : date.toISOString().slice(0, 19).replace('T', ' ')
}

/** A duration in at most two units: `2 h 30 min`. */
export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : lengthText(ms)
}

/** A duration in one unit, for columns: `4 s`, `12 min`. */
export function formatAge(ms: number): string {
  return ms < 1000 ? '0 s' : formatDuration(ms).split(' ').slice(0, 2).join(' ')
}

/** A latency with a precision that suits its size: `2.9 ms`, `22 ms`, `1.25 s`. */
export function formatMs(ms: number | null | undefined): string {
  if (!isNumber(ms)) return dash
  if (ms >= 10_000) return formatDuration(ms)
  return ms >= 1000 ? `${plain.format(ms / 1000)} s` : `${Number(ms.toPrecision(2))} ms`
}

/** A share as a percentage. Only 1 is shown as 100 %, and only 0 as 0 %. */
export function formatShare(share: number | null | undefined): string {
  if (!isNumber(share)) return dash
  const percent = share * 100
  if (share > 0.999 && share < 1) return `${Math.floor(percent * 1000) / 1000} %`
  if (share > 0 && percent < 0.1) return '< 0.1 %'
  return `${Number(percent.toFixed(1))} %`
}
