import { z } from 'zod'

// What bodies of control requests are made of, each with words of its own for what it expects.

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

/** Text in one line, as long as Unicode counts it, without blanks around it. */
export function lineOf(what: string, longest: number) {
  const error = `expected ${what} of 1 to ${longest} characters, without line breaks or other control characters`
  return z
    .string({ error })
    .trim()
    .refine((text) => isLine(text) && Array.from(text).length <= longest, { error })
}

function isLine(text: string): boolean {
  return text !== '' && text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
}
