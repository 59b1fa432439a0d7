import { InvalidArgumentError } from 'commander'
import { InboxError } from '../base/errors.ts'
import { durationForm, maxDurationMs, parseDuration } from '../emulator/duration.ts'

// Parsers of arguments and options. Each throws InvalidArgumentError for invalid text.

export function numberFrom(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value >= low && value <= high) return value
    throw new InvalidArgumentError(`Expected a number from ${low} to ${high}.`)
  }
}

export function wholeNumberFrom(low: number, high = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,16}$/.test(text) && value >= low && value <= high) return value
    throw new InvalidArgumentError(
      `Expected a whole number from ${low}${high === Number.MAX_SAFE_INTEGER ? '' : ` to ${high}`}.`,
    )
  }
}

export const parseCount = wholeNumberFrom(1)

/** Seconds to follow deliveries; 0 = don't follow. */
export const parseSeconds = numberFrom(0, 86_400)

/** Turns an age such as `2h` into the ISO 8601 time that long ago. The admin API validates dates and times. */
export function time(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined && ms <= maxDurationMs) return new Date(Date.now() - ms).toISOString()
  if (ms === undefined && /^\d{4}-/.test(text)) return text
  throw new InvalidArgumentError(
    'Expected a time such as 2026-01-31T14:03:22Z, a date, or an age such as 2h (at most 366d).',
  )
}

/** Parses a duration such as `15m` to milliseconds. */
export function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms <= maxDurationMs) return ms
  throw new InvalidArgumentError(`Expected ${durationForm}; at most 366d.`)
}

/** Encodes an id as a path segment. URLs treat `.` and `..` as special even when encoded. */
export function segment(id: string): string {
  if (id !== '' && id !== '.' && id !== '..') return encodeURIComponent(id)
  throw new InboxError('usage', `${JSON.stringify(id)} is not a valid id`)
}
