import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import { bodyOf, isServerUrl, longRetry, shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'
import { createConnection, requirePeers } from './common/connection.ts'

const options = z.strictObject({
  // A password that isn't percent-encoded could be parsed as the host, which is shown: the path is restricted.
  url: z.string().refine((text) => isServerUrl(text, ['redis:', 'rediss:'], /^(?:\/\d*)?$/), {
    error: 'expected redis://host:port or rediss://host:port, with percent-encoded user and password if needed',
  }),
  stream: z.string().min(1).default('onchain-events'),
  /** Approximate number of entries to keep. Default: all. */
  maxLength: z.int().min(1).optional(),
  /** How long idempotency keys are remembered. An entry with a remembered key isn't added again. */
  dedupeSeconds: z
    .int()
    .min(1)
    .default(7 * 86_400),
})

type Options = z.output<typeof options>

/**
 * Adds one entry per event to a Redis stream: `id`, `type`, `key`, `idempotency_key` and `body` (the exact bytes). A
 * repeat within `dedupeSeconds` adds nothing. For durability set `appendfsync always` in Redis.
 */
export default {
  options,
  target: ({ url, stream }) => `${shownOption(url)} ${shownOption(stream)}`.trim(),
  example: "{ kind: 'redis', url: 'redis://127.0.0.1:6379' }",
  create,
  check: ({ name }) => requirePeers(name, ['@redis/client']),
} satisfies SinkKind<typeof options>

/**
 * Adds the entry atomically, unless its idempotency key is remembered. Stores the key after the entry: if Redis runs out of
 * memory in between, the entry is repeated, not lost.
 */
const addOnce = `
if redis.call('EXISTS', KEYS[2]) == 1 then return false end
local entry = {KEYS[1]}
if ARGV[2] ~= '' then
  entry[2] = 'MAXLEN'; entry[3] = '~'; entry[4] = ARGV[2]
end
entry[#entry + 1] = '*'
for i = 3, #ARGV do entry[#entry + 1] = ARGV[i] end
local id = redis.call('XADD', unpack(entry))
redis.call('SET', KEYS[2], '1', 'EX', ARGV[1])
return id`

/** Timeout for connecting, the server's first response included. */
const connectMs = 10_000

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const { stream, maxLength, dedupeSeconds } = options
  const connection = createConnection({
    open: () => connect(options.url),
    close: (client: RedisConnection) => client.destroy(),
  })
  return {
    ...longRetry,
    async send([item], { signal }) {
      if (item === undefined) return
      const { event, key, idempotencyKey } = item
      const fields = ['id', event.uid, 'type', event.type, 'key', key ?? '', 'idempotency_key', idempotencyKey, 'body']
      await connection.use(signal, async (client, closeBroken) => {
        try {
          await client.eval(addOnce, {
            // Redis Cluster hashes only the text in braces, so both keys are on one node.
            keys: [stream, `{${stream}}:seen:${idempotencyKey}`],
            arguments: [
              String(dedupeSeconds),
              String(maxLength ?? ''),
              ...fields,
              Buffer.from(bodyOf(item)).toString(),
            ],
          })
        } catch (error) {
          if (!client.isReady) await closeBroken()
          throw error
        }
      })
    },
    close: () => connection.forget(),
  }
}

type RedisConnection = Awaited<ReturnType<typeof connect>>

async function connect(url: string) {
  const { createClient } = await import('@redis/client')
  const client = createClient({
    url,
    name: 'onchain-inbox',
    // No queue and no reconnection in the background: the next item opens a new connection.
    disableOfflineQueue: true,
    socket: { connectTimeout: connectMs, reconnectStrategy: false },
  })
  // An error event without a listener would end the thread.
  client.on('error', () => {})
  // `connectTimeout` doesn't include the server's first response.
  const timeout = setTimeout(() => client.destroy(), connectMs)
  try {
    await client.connect()
  } finally {
    clearTimeout(timeout)
  }
  return client
}
