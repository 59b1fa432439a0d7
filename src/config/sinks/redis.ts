import { z } from 'zod'

/** Events go to a stream of Redis, or of what speaks as it does. */
export const redisOptions = z.strictObject({
  url: z.string().refine(isRedisUrl, {
    error:
      'expected redis://host:port or rediss://host:port, with user and password in it where they are needed; percent-encode what is special in them',
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

/** Of a password that is not percent-encoded a part would be taken for the host, and shown. */
function isRedisUrl(value: string): boolean {
  const { protocol, hostname, pathname, search, hash } = URL.parse(value) ?? {}
  if (protocol !== 'redis:' && protocol !== 'rediss:') return false
  return hostname !== '' && /^(?:\/\d*)?$/.test(pathname ?? '') && search === '' && hash === ''
}
