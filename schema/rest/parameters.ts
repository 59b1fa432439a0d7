import { z } from 'zod'
import { assumed } from '../fields.ts'
import { address, network, text } from './fields.ts'

// Parameters in path and query. Values arrive as text. The server ignores unknown parameters and rejects repeated ones.

/** Page size of lists (R114, A57). */
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

/** `limit` and `cursor` of all paged lists (R52, R55, R65, R114, R120). */
export const pageParameters = {
  limit: assumed(
    z
      .preprocess(toInteger, z.int(limitProblem).min(pageLimits.min, limitProblem).max(pageLimits.max, limitProblem))
      .default(pageLimits.default)
      .describe(`Items per page: ${pageLimits.min} to ${pageLimits.max}; other values are rejected.`),
    'A57',
  ),
  cursor: assumed(
    z
      .string()
      .min(1, 'expected the next_cursor of a previous page')
      .describe('The `next_cursor` of the previous page, unchanged, with the same other parameters.')
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

/** An identifier in a path. Every unknown identifier gets 404. */
export function handleParameter(meaning: string) {
  return assumed(z.string().min(1).describe(meaning), 'A22')
}

/** Converts decimal digits to a number. All other text stays unchanged and is rejected later. */
function toInteger(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,9}$/.test(value) ? Number(value) : value
}
