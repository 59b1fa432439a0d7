import { z } from 'zod'

/** The choices of the REST service where its description is silent: each a named setting with its default. */
export const restSettingsSchema = z.strictObject({
  /** A1: whether the meta of a page has `latency_ms` beside the members of a page. */
  latencyOnLists: z.boolean().default(true),
  /** A9: whether an EVM address in mixed case must have its EIP-55 checksum. */
  strictChecksum: z.boolean().default(false),
  /** A18: what `Retry-After` says while a network is in maintenance, in seconds. */
  maintenanceRetryAfterS: z.int().min(1).max(86_400).default(60),
  /** A18: by how much answers of a degraded network are late at least, in milliseconds of real time. */
  degradedMinMs: z.int().min(0).max(60_000).default(300),
  /** A18: and at most. */
  degradedMaxMs: z.int().min(0).max(60_000).default(2_000),
  /** A21: `shuffled` mixes the trades within each page, for clients that must not rely on their order (R55). */
  tradesOrder: z.enum(['newest', 'shuffled']).default('newest'),
  /** A57: what becomes of a whole-numbered `limit` below 1 or above 100: an error, or the nearest that is allowed. */
  limit: z.enum(['refuse', 'clamp']).default('refuse'),
  /** A61: leaves `next_cursor` out on the last page instead of giving null. */
  omitNextCursor: z.boolean().default(false),
  /** A62: since when v1 is said to be deprecated, by the headers `Deprecation` and `Sunset`; null = it is not. */
  v1DeprecatedOn: z.iso.date().nullable().default(null),
})

export type RestSettings = z.output<typeof restSettingsSchema>

/** Every setting at its default. */
export const defaultRestSettings: RestSettings = Object.freeze(restSettingsSchema.parse({}))
