import type { NatsConnection } from '@nats-io/transport-node'
import { defineSink, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import type { NatsOptions } from '../../src/config/sinks/nats.ts'
import type { SinkSetup } from '../../src/dispatch/bundled-sinks.ts'
import { bodyOf, headerText } from './common/body.ts'
import { createConnection } from './common/connection.ts'
import { loadPeer, requirePeers } from './common/peer.ts'

/** How long JetStream may take to say that a message is stored. */
const ackMs = 10_000

/**
 * Publishes to a stream of NATS JetStream, and counts as delivered what the stream has acknowledged. `Nats-Msg-Id` is the
 * idempotency key: within its duplicate window (two minutes unless it says otherwise) the stream keeps a repeat once.
 */
export default function createNats({ name, options }: SinkSetup<NatsOptions>): Readonly<SinkDefinition> {
  const connection = createConnection({
    open: () => connect(name, options),
    close: (opened: NatsConnection) => opened.close(),
  })
  return defineSink({
    name,
    retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send([item], { signal }) {
      if (item === undefined) return
      const [{ headers }, { jetstream }] = await Promise.all([loadTransport(name), loadJetStream(name)])
      const own = headers()
      own.set('Inbox-Event-Id', headerText(item.event.id))
      own.set('Inbox-Event-Type', headerText(item.event.type))
      if (item.key !== null) own.set('Inbox-Key', headerText(item.key))
      await connection.use(signal, async (opened, lost) => {
        if (opened.isClosed()) {
          await lost()
          throw new Error('the connection to NATS was lost')
        }
        await jetstream(opened, { timeout: ackMs }).publish(subjectOf(options.subject, item), bodyOf(item), {
          msgID: headerText(item.idempotencyKey),
          headers: own,
          ...(options.stream !== undefined && { expect: { streamName: options.stream } }),
        })
      })
    },
    close: () => connection.forget(),
  })
}

/** Whether its packages are installed. */
export function check({ name }: SinkSetup<NatsOptions>): void {
  requirePeers(name, ['@nats-io/transport-node', '@nats-io/jetstream'])
}

const loadTransport = (name: string) =>
  loadPeer(name, '@nats-io/transport-node', () => import('@nats-io/transport-node'))
const loadJetStream = (name: string) => loadPeer(name, '@nats-io/jetstream', () => import('@nats-io/jetstream'))

async function connect(name: string, options: NatsOptions): Promise<NatsConnection> {
  const { servers, user, password, token, tls } = options
  const transport = await loadTransport(name)
  return transport.connect({
    servers,
    name: 'onchain-inbox',
    // What is lost is opened anew with the next item: until then nothing waits for it.
    reconnect: false,
    timeout: ackMs,
    ...(user !== undefined && password !== undefined && { user, pass: password }),
    ...(token !== undefined && { token }),
    ...(tls && { tls: {} }),
  })
}

/** Of what is in an event, only what cannot be read as a part of the subject's form: `.`, `*`, `>`, spaces. */
function subjectOf(pattern: string, { event, key }: SinkItem): string {
  const network: unknown = event.data['network' as keyof typeof event.data]
  const place = typeof network === 'string' ? network : event.type === 'pump.graduation' ? 'solana' : 'none'
  // The dots of a type are meant as such: `onchain.*.wallet.>` takes all that wallets do.
  const values = { type: event.type.split('.').map(word).join('.'), network: word(place), key: word(key ?? 'none') }
  return pattern.replaceAll(/\{(type|network|key)\}/g, (_, name: keyof typeof values) => values[name])
}

function word(text: string): string {
  const safe = text.replaceAll(/[^\w-]/g, '_').slice(0, 100)
  return safe === '' ? '_' : safe
}
