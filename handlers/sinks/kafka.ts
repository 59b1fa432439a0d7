import type { Producer } from '@platformatic/kafka'
import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import { bodyOf, oneOrMore, longRetry, shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'
import { createConnection, requirePeers } from './common/connection.ts'

const broker = z.string().regex(/^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i, { error: 'expected host:port' })

const options = z.strictObject({
  brokers: oneOrMore(broker),
  topic: z
    .string()
    .regex(/^[\w.-]{1,249}$/, { error: 'expected 1 to 249 letters, digits, dots, dashes or underscores' })
    .default('onchain-events'),
  clientId: z.string().min(1).default('onchain-inbox'),
  tls: z.boolean().default(false),
  sasl: z
    .strictObject({
      mechanism: z.enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']),
      username: z.string().min(1),
      password: z.string().min(1),
    })
    .optional(),
})

type Options = z.output<typeof options>

/**
 * Produces records to a Kafka topic with the key of the event, so that events of one key stay in order. A repeat is
 * produced again, with the same header `idempotency-key`. Experimental: not tested with a real broker.
 */
export default {
  options,
  target: ({ brokers, topic }) => `${shownOption(brokers)} ${shownOption(topic)}`.trim(),
  example: "{ kind: 'kafka', brokers: ['127.0.0.1:9092'] }",
  create,
  check: ({ name }) => requirePeers(name, ['@platformatic/kafka']),
} satisfies SinkKind<typeof options>

/** Waits for all in-sync replicas. */
const allReplicas = -1
const timeoutMs = 10_000

type BytesProducer = Producer<Buffer, Buffer, Buffer, Buffer>

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const connection = createConnection({
    open: () => connect(options),
    close: (producer: BytesProducer) => producer.close(),
  })
  return {
    batch: 100,
    concurrency: 1,
    ...longRetry,
    async send(items, { signal }) {
      const messages = items.map((item) => ({
        topic: options.topic,
        key: Buffer.from(item.key ?? item.event.uid),
        value: Buffer.from(bodyOf(item)),
        headers: new Map(
          Object.entries({
            'idempotency-key': item.idempotencyKey,
            'event-id': item.event.uid,
            'event-type': item.event.type,
          }).map(([header, value]) => [Buffer.from(header), Buffer.from(value)]),
        ),
      }))
      await connection.use(signal, (producer) => producer.send({ messages, acks: allReplicas }))
    },
    close: () => connection.forget(),
  }
}

async function connect(options: Options): Promise<BytesProducer> {
  const { brokers, clientId, tls, sasl } = options
  const { Producer } = await import('@platformatic/kafka')
  return new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId,
    bootstrapBrokers: [...brokers],
    timeout: timeoutMs,
    requestTimeout: timeoutMs,
    // The sink retries failed sends itself.
    retries: 0,
    ...(tls && { tls: {} }),
    ...(sasl !== undefined && { sasl }),
  })
}
