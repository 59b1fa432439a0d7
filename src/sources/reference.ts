import type { Reference } from './provider.ts'

/** Names and values in turn, as received (Node's `rawHeaders`). Repeated headers are visible in them. */
export type RawHeaders = readonly string[]

/** All values of a header. `name` is in lower case. */
export function headersOf(headers: RawHeaders, name: string): readonly string[] {
  const values: string[] = []
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const sentName = headers[index] ?? ''
    if (sentName.length === name.length && sentName.toLowerCase() === name) values.push(headers[index + 1] ?? '')
  }
  return values
}

/** A delivery whose values are read by reference. */
export interface ReferredDelivery {
  readonly headers: RawHeaders
  /** The parsed body. */
  readonly body: unknown
  /** The body parsed again, with numbers that would lose digits as their text. */
  readonly exactBody: () => unknown
}

/** The scalar at a reference as text, which may be empty; undefined without one. */
export function valueAt(reference: Reference, delivery: ReferredDelivery): string | undefined {
  const references = typeof reference === 'string' ? [reference] : reference
  for (const each of references) {
    const [root, ...names] = each.split('.')
    const value = root === 'header' ? headerAt(delivery.headers, names.join('.')) : bodyValueAt(names, delivery)
    if (value !== undefined) return value
  }
  return undefined
}

function headerAt(headers: RawHeaders, name: string): string | undefined {
  const [value, ...others] = headersOf(headers, name)
  return others.length === 0 ? value : undefined
}

function bodyValueAt(names: readonly string[], { body, exactBody }: ReferredDelivery): string | undefined {
  const rounded = scalarAt(body, names)
  const isExact = typeof rounded !== 'number' || Number.isSafeInteger(rounded)
  const value = isExact ? rounded : scalarAt(exactBody(), names)
  return value === undefined ? undefined : String(value)
}

/** `*` means every item of an array: their values must be equal. */
function scalarAt(value: unknown, names: readonly string[]): string | number | boolean | undefined {
  const [name, ...rest] = names
  if (name === undefined) {
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (name !== '*') return Object.hasOwn(value, name) ? scalarAt(Reflect.get(value, name), rest) : undefined
  if (!Array.isArray(value)) return undefined
  const scalars = new Set(value.map((item) => scalarAt(item, rest)))
  return scalars.size === 1 ? [...scalars][0] : undefined
}

/**
 * A time as milliseconds since 1970; null if the text is none. Numbers may be seconds to nanoseconds, texts ISO 8601 (UTC
 * unless they say otherwise) or the format of HTTP.
 */
export function toTime(text: string): number | null {
  const time = isNumber.test(text) ? fromNumber(Number(text)) : fromDate(text)
  return time >= earliest && time <= latest ? Math.trunc(time) : null
}

const isNumber = /^\d+(?:\.\d+)?$/
/** Date.parse would find a time in nearly any text. */
const isDate = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:|$)|^[A-Z][a-z]{2}, \d/
const isWithoutZone = /[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/

const earliest = Date.UTC(2000, 0)
const latest = Date.UTC(2200, 0)

function fromDate(text: string): number {
  if (!isDate.test(text)) return NaN
  return Date.parse(isWithoutZone.test(text) ? `${text}Z` : text)
}

function fromNumber(value: number): number {
  if (value < 1e11) return value * 1_000
  if (value < 1e14) return value
  return value < 1e17 ? value / 1_000 : value / 1e6
}
