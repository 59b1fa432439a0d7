import { z } from 'zod'
import type { NetworkId } from '../../schema/index.ts'
import { parseAddress } from './world/addresses.ts'

// Schemas for bodies and queries of control requests, each with its own error message.

/** A whole number within bounds, both included. */
export function wholeNumberFrom(low: number, high: number) {
  const error = `expected a whole number from ${low} to ${high}`
  return z.int({ error }).min(low, { error }).max(high, { error })
}

/** A number within bounds, both included. */
export function numberFrom(low: number, high: number) {
  const error = `expected a number from ${low} to ${high}`
  return z.number({ error }).min(low, { error }).max(high, { error })
}

/** A number above 0. */
export function numberUpTo(high: number) {
  const error = `expected a number above 0 and at most ${high}`
  return z.number({ error }).positive({ error }).max(high, { error })
}

export const positive = z.number().positive().max(1e15)

/** One line of text without surrounding blanks. Length counts Unicode code points. */
export function lineOf(what: string, maxLength: number) {
  const error = `expected ${what} of 1 to ${maxLength} characters, without line breaks or other control characters`
  return z
    .string({ error })
    .trim()
    .refine((text) => isLine(text) && Array.from(text).length <= maxLength, { error })
}

function isLine(text: string): boolean {
  return text !== '' && text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
}

/** Text of 1 to `maxLength` characters. */
export function textOf(what: string, maxLength: number) {
  const error = `expected ${what} of 1 to ${maxLength} characters`
  return z.string({ error }).min(1, { error }).max(maxLength, { error })
}

/** A whole number ≥ 0 in a query. */
export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number)

/** A UTC time, as milliseconds since 1970. */
export const utcTime = z.iso
  .datetime('expected a UTC time such as 2026-01-31T12:00:00Z')
  .transform((text) => Date.parse(text))

/** Page size in a query. */
export const limit = wholeNumber.refine(
  (value) => value >= 1 && value <= 1_000,
  'expected a whole number from 1 to 1000',
)

/** Replaces the named members, addresses of the command's network, by their canonical form. */
export function canonical<T extends { readonly network: NetworkId }>(...members: readonly (keyof T & string)[]) {
  return (command: T, context: z.core.$RefinementCtx): T => {
    const changed = members.flatMap((member): [string, string][] => {
      const text = command[member]
      if (typeof text !== 'string') return []
      const parsed = parseAddress(command.network, text)
      if (parsed.ok) return [[member, parsed.address]]
      context.addIssue({ code: 'custom', message: parsed.problem, path: [member] })
      return []
    })
    return { ...command, ...Object.fromEntries(changed) }
  }
}
