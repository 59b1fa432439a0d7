import type { NatsConnection } from '@nats-io/transport-node'
import type { SinkDefinition, SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { bodyOf, headerText, oneOrMore, longRetry, shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'
import { createConnection, requirePeers } from './common/connection.ts'
import { networkOf } from 'onchain-inbox/format'

const server = z.string().regex(/^(?:(?:nats|tls):\/\/)?[^\s/@]+$/, {
  error: 'expected host:port, nats://host:port or tls://host:port; set user and password as options',
})

/** Words separated by dots, with the placeholders `{type}`, `{network}` and `{key}`. */
const subject = z.string().regex(/^(?:[\w-]|\{(?:type|network|key)\})+(?:\.(?:[\w-]|\{(?:type|network|key)\})+)*$/, {
  error:
    'expected words separated by dots, such as onchain.{network}.{type}; placeholders are {type}, {network} and {key}',
})

const options = z
  .strictObject({
    servers: oneOrMore(server),
    /** Name of an existing stream that captures the subject. Default: any. */
    stream: z.string().min(1).optional(),
    subject: subject.default('onchain.{network}.{type}'),
    user: z.string().min(1).optional(),
    password: z.string().min(1).optional(),
    token: z.string().min(1).optional(),
    tls: z.boolean().default(false),
  })
  .refine(({ user, password, token }) => (user === undefined) === (password === undefined) && !(user && token), {
    error: 'expected user and password, or token, or neither',
  })

type Options = z.output<typeof options>

/**
 * Publishes to a NATS JetStream stream and waits for its acknowledgement. `Nats-Msg-Id` is the idempotency key: the
 * stream drops repeats within its duplicate window (default: two minutes).
 */
export default {
  options,
  target: ({ servers, stream, subject }) =>
    [servers, stream, subject]
      .filter((value) => value !== undefined)
      .map((value) => shownOption(value))
      .join(' '),
  example: "{ kind: 'nats', servers: '127.0.0.1:4222', token: { env: 'TOKEN' } }",
  create,
  check: ({ name }) => requirePeers(name, ['@nats-io/transport-node', '@nats-io/jetstream']),
} satisfies SinkKind<typeof options>

/** Timeout of a connection attempt and of an acknowledgement. */
const ackMs = 10_000

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const connection = createConnection({
    open: () => connect(options),
    close: (opened: NatsConnection) => opened.close(),
  })
  return {
    ...longRetry,
    async send([item], { signal }) {
      if (item === undefined) return
      const [{ headers }, { jetstream }] = await Promise.all([
        import('@nats-io/transport-node'),
        import('@nats-io/jetstream'),
      ])
      const eventHeaders = headers()
      eventHeaders.set('Inbox-Event-Id', headerText(item.event.uid))
      eventHeaders.set('Inbox-Event-Type', headerText(item.event.type))
      if (item.key !== null) eventHeaders.set('Inbox-Key', headerText(item.key))
      await connection.use(signal, async (opened, closeBroken) => {
        if (opened.isClosed()) {
          await closeBroken()
          throw new Error('the connection to NATS was lost')
        }
        await jetstream(opened, { timeout: ackMs }).publish(subjectOf(options.subject, item), bodyOf(item), {
          msgID: headerText(item.idempotencyKey),
          headers: eventHeaders,
          ...(options.stream !== undefined && { expect: { streamName: options.stream } }),
        })
      })
    },
    close: () => connection.forget(),
  }
}

async function connect(options: Options): Promise<NatsConnection> {
  const { servers, user, password, token, tls } = options
  const transport = await import('@nats-io/transport-node')
  return transport.connect({
    servers,
    name: 'onchain-inbox',
    // No reconnection in the background: the next item opens a new connection.
    reconnect: false,
    timeout: ackMs,
    ...(user !== undefined && password !== undefined && { user, pass: password }),
    ...(token !== undefined && { token }),
    ...(tls && { tls: {} }),
  })
}

/** Fills in the subject. Values from the event can't add `.` (except in the type), `*`, `>` or spaces. */
function subjectOf(pattern: string, { event, key }: SinkItem): string {
  // The dots of a type stay: `onchain.*.wallet.>` matches all wallet events.
  const values = {
    type: event.type.split('.').map(toWord).join('.'),
    network: toWord(networkOf(event) ?? 'none'),
    key: toWord(key ?? 'none'),
  }
  return pattern.replaceAll(/\{(type|network|key)\}/g, (_, name: keyof typeof values) => values[name])
}

function toWord(text: string): string {
  const safe = text.replaceAll(/[^\w-]/g, '_').slice(0, 100)
  return safe === '' ? '_' : safe
}
