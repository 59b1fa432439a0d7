import { defineSink, type SinkDefinition } from 'onchain-inbox'
import type { RedisOptions } from '../../src/config/sinks/redis.ts'
import type { SinkSetup } from '../../src/dispatch/bundled-sinks.ts'
import { bodyOf } from './common/body.ts'
import { createConnection } from './common/connection.ts'
import { loadPeer, requirePeers } from './common/peer.ts'

/**
 * Adds the entry unless its idempotency key is known, in one step, so that no repeat comes between. The mark comes last: where Redis
 * has room for neither, nothing is lost.
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

const connectMs = 10_000

/**
 * Adds to a stream of Redis: `id`, `type`, `key`, `idempotency_key` and `body`, the exact bytes. A repeat within `dedupeSeconds` adds
 * nothing. What Redis has acknowledged is as durable as its settings make it (`appendfsync always`).
 */
export default function createRedis({ name, options }: SinkSetup<RedisOptions>): Readonly<SinkDefinition> {
  const { stream, maxLength, dedupeSeconds } = options
  const connection = createConnection({
    open: () => connect(name, options.url),
    close: (client: RedisConnection) => client.destroy(),
  })
  return defineSink({
    name,
    retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send([item], { signal }) {
      if (item === undefined) return
      const { event, key, idempotencyKey } = item
      const fields = ['id', event.id, 'type', event.type, 'key', key ?? '', 'idempotency_key', idempotencyKey, 'body']
      await connection.use(signal, async (client, lost) => {
        try {
          await client.eval(addOnce, {
            // The braces keep both on one node of a cluster.
            keys: [stream, `{${stream}}:seen:${idempotencyKey}`],
            arguments: [
              String(dedupeSeconds),
              String(maxLength ?? ''),
              ...fields,
              Buffer.from(bodyOf(item)).toString(),
            ],
          })
        } catch (error) {
          if (!client.isReady) await lost()
          throw error
        }
      })
    },
    close: () => connection.forget(),
  })
}

/** Whether its package is installed. */
export function check({ name }: SinkSetup<RedisOptions>): void {
  requirePeers(name, ['@redis/client'])
}

type RedisConnection = Awaited<ReturnType<typeof connect>>

async function connect(name: string, url: string) {
  const { createClient } = await loadPeer(name, '@redis/client', () => import('@redis/client'))
  const client = createClient({
    url,
    name: 'onchain-inbox',
    // What is lost is opened anew with the next item: until then nothing waits for it.
    disableOfflineQueue: true,
    socket: { connectTimeout: connectMs, reconnectStrategy: false },
  })
  // Heard, or it would end the thread; what was being sent fails by itself.
  client.on('error', () => {})
  // Its own limit ends with the connection, before the server has said anything.
  const late = setTimeout(() => client.destroy(), connectMs)
  try {
    await client.connect()
  } finally {
    clearTimeout(late)
  }
  return client
}
