import { z } from 'zod'

const patternHint = "expected a type such as 'wallet.large_trade', a prefix such as 'wallet.*', '*', or a list of these"
const pattern = z
  .string(patternHint)
  .regex(/^(?:\*|[^*]*[^*.](?:\.\*)?)$/, patternHint)
  .max(255)

/** A list, or one item. */
export function oneOrMore<T extends z.ZodType>(item: T, hint: string) {
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item, hint).min(1, hint))
}

/** Event types, prefixes such as `wallet.*`, or `*`: one or a list. */
export const eventPatterns = oneOrMore(pattern, patternHint)
