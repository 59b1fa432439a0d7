import { z } from 'zod'

const server = z.string().regex(/^(?:(?:nats|tls):\/\/)?[^\s/@]+$/, {
  error: 'expected host:port, nats://host:port or tls://host:port; user and password have options of their own',
})

/** A subject is made of words with dots between; `{type}`, `{network}` and `{key}` stand for those of the event. */
const subject = z.string().regex(/^(?:[\w-]|\{(?:type|network|key)\})+(?:\.(?:[\w-]|\{(?:type|network|key)\})+)*$/, {
  error: 'expected words with dots between, such as onchain.{network}.{type}; {type}, {network} and {key} are known',
})

/** Events go to a stream of NATS JetStream. */
export const natsOptions = z
  .strictObject({
    servers: z.union([server.transform((one) => [one]), z.array(server).min(1)]),
    /** Must exist, and take the subject. */
    stream: z.string().min(1).optional(),
    subject: subject.default('onchain.{network}.{type}'),
    user: z.string().min(1).optional(),
    password: z.string().min(1).optional(),
    token: z.string().min(1).optional(),
    tls: z.boolean().default(false),
  })
  .refine(({ user, password, token }) => (user === undefined) === (password === undefined) && !(user && token), {
    error: 'expected user and password, or token, or none of them',
  })

export type NatsOptions = z.output<typeof natsOptions>
