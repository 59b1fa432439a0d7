import { z } from 'zod'

const broker = z.string().regex(/^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i, { error: 'expected host:port' })

/** Events go to a topic of Kafka. */
export const kafkaOptions = z.strictObject({
  brokers: z.union([broker.transform((one) => [one]), z.array(broker).min(1)]),
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

export type KafkaOptions = z.output<typeof kafkaOptions>
