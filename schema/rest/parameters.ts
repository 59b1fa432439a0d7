import { z } from 'zod'
import { address, assumed, network, text } from './fields.ts'

// What requests carry in their path and query. Values arrive as text; a parameter that nobody documented is ignored, one
// that comes twice is refused by the server.

/** How long the pages of lists are (R114, A57). */
export const pageLimits = { min: 1, max: 100, default: 20 } as const

/** The lookback windows of a PnL summary (R54). */
export const timeframes = ['24h', '7d', '30d', 'all'] as const
export type Timeframe = (typeof timeframes)[number]

/** `network` in the query, one of seven (R4). */
export const networkParameter = network.describe('Network to resolve the query against.')

export const walletParameter = address.describe(
  'Public address of the wallet. Letters of 0x addresses may be in any case; addresses of solana keep theirs.',
)
export const tokenParameter = address.describe(
  'Contract address of the token. Letters of 0x addresses may be in any case; addresses of solana keep theirs.',
)

const limitProblem = `expected a whole number from ${pageLimits.min} to ${pageLimits.max}`

/** `limit` and `cursor` of every list that is paged (R52, R55, R65, R114, R120). */
export const pageParameters = {
  limit: assumed(
    z
      .preprocess(toInteger, z.int(limitProblem).min(pageLimits.min, limitProblem).max(pageLimits.max, limitProblem))
      .default(pageLimits.default)
      .describe(`Items per page: ${pageLimits.min} to ${pageLimits.max}; other values are refused.`),
    'A57',
  ),
  cursor: assumed(
    z
      .string()
      .min(1, 'expected the next_cursor of a page before')
      .describe('The `next_cursor` of the page before, as it came; it goes with the same other parameters.')
      .optional(),
    'A58',
  ),
}

/** The window of a PnL summary; 30 days by default (R54). */
export const timeframeParameter = z.enum(timeframes).default('30d').describe('Lookback window.')

/** Text to search tokens by (R65, A20). */
export const searchParameter = assumed(
  text('text', 1, 100).describe('Part of a symbol or a name in any case, or a whole address.'),
  'A20',
)

/** A handle in a path. One that names nothing is not found, whatever it looks like. */
export function handleParameter(meaning: string) {
  return assumed(z.string().min(1).describe(meaning), 'A22')
}

/** Decimal digits become a number, everything else stays what it is and is refused after this. */
function toInteger(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,9}$/.test(value) ? Number(value) : value
}
