import type { Producer } from '@platformatic/kafka'
import { defineSink, type SinkDefinition } from 'onchain-inbox'
import type { KafkaOptions } from '../../src/config/sinks/kafka.ts'
import type { SinkSetup } from '../../src/dispatch/bundled-sinks.ts'
import { bodyOf } from './common/body.ts'
import { createConnection } from './common/connection.ts'
import { loadPeer, requirePeers } from './common/peer.ts'

/** Every replica that is in sync has it. */
const allReplicas = -1
const timeoutMs = 10_000

type BytesProducer = Producer<Buffer, Buffer, Buffer, Buffer>

/**
 * Produces to a topic of Kafka; the record's key is that of the event, so that one address is in one partition, in order. A repeat
 * is produced again: consumers tell it by the header `idempotency-key`. Experimental: it has not met a real broker yet.
 */
export default function createKafka({ name, options }: SinkSetup<KafkaOptions>): Readonly<SinkDefinition> {
  const connection = createConnection({
    open: () => connect(name, options),
    close: (producer: BytesProducer) => producer.close(),
  })
  return defineSink({
    name,
    batch: 100,
    concurrency: 1,
    retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send(items, { signal }) {
      const messages = items.map((item) => ({
        topic: options.topic,
        key: Buffer.from(item.key ?? item.event.id),
        value: Buffer.from(bodyOf(item)),
        headers: new Map(
          Object.entries({
            'idempotency-key': item.idempotencyKey,
            'event-id': item.event.id,
            'event-type': item.event.type,
          }).map(([header, value]) => [Buffer.from(header), Buffer.from(value)]),
        ),
      }))
      await connection.use(signal, (producer) => producer.send({ messages, acks: allReplicas }))
    },
    close: () => connection.forget(),
  })
}

/** Whether its package is installed. */
export function check({ name }: SinkSetup<KafkaOptions>): void {
  requirePeers(name, ['@platformatic/kafka'])
}

async function connect(name: string, options: KafkaOptions): Promise<BytesProducer> {
  const { brokers, clientId, tls, sasl } = options
  const { Producer } = await loadPeer(name, '@platformatic/kafka', () => import('@platformatic/kafka'))
  return new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId,
    bootstrapBrokers: [...brokers],
    timeout: timeoutMs,
    requestTimeout: timeoutMs,
    // A send that fails is tried again as a whole, by the sink's own policy.
    retries: 0,
    ...(tls && { tls: {} }),
    ...(sasl !== undefined && { sasl }),
  })
}
