import { z } from 'zod'

/** Events go to a stream of Redis, or of what speaks as it does. */
export const redisOptions = z.strictObject({
  url: z.string().regex(/^rediss?:\/\/\S+$/, {
    error: 'expected redis://host:port or rediss://host:port, with user and password in it where they are needed',
  }),
  stream: z.string().min(1).default('onchain-events'),
  /** The oldest beyond about so many go. Default: none. */
  maxLength: z.int().min(1).optional(),
  /** For so long a repeat is known for one. */
  dedupeSeconds: z
    .int()
    .min(1)
    .default(7 * 86_400),
})

export type RedisOptions = z.output<typeof redisOptions>
