import { expect, test } from 'vitest'
import kafkaKind from '../../handlers/sinks/kafka.ts'
import natsKind from '../../handlers/sinks/nats.ts'
import redisKind from '../../handlers/sinks/redis.ts'
import sqlKind from '../../handlers/sinks/sql.ts'
import type { SinkContext, SinkDefinition } from '../../src/dispatch/define-sink.ts'
import { startSocketServer } from '../support/socket-server.ts'
import { streamItem } from '../support/stream-sinks.ts'

const name = 'out'
const sinks: Readonly<Record<string, (port: number) => Readonly<SinkDefinition<'*'>>>> = {
  nats: (port) => natsKind.create({ name, options: natsKind.options.parse({ servers: `nats://127.0.0.1:${port}` }) }),
  kafka: (port) =>
    kafkaKind.create({ name, options: kafkaKind.options.parse({ brokers: `127.0.0.1:${port}`, topic: 'events' }) }),
  redis: (port) => redisKind.create({ name, options: redisKind.options.parse({ url: `redis://127.0.0.1:${port}` }) }),
  postgres: (port) =>
    sqlKind.create(
      { name, options: sqlKind.options.parse({ url: `postgres://u:p@127.0.0.1:${port}/d` }) },
      { baseDir: '/' },
    ),
}

/** Sends one item, and aborts after `asked`. */
async function sendUntil(sink: Readonly<SinkDefinition<'*'>>, asked: () => Promise<unknown>): Promise<void> {
  const late = new Error('time is over')
  const controller = new AbortController()
  const sending = Promise.resolve(sink.send([streamItem(1)], { signal: controller.signal } as SinkContext))
  sending.catch(() => {})
  await asked()
  controller.abort(late)
  await expect(sending).rejects.toBe(late)
}

test.each(Object.keys(sinks))(
  'an aborted send of %s ends, and the next one opens a new connection',
  { timeout: 20_000 },
  async (kind) => {
    await using server = await startSocketServer()
    const sink = sinks[kind]!(server.port)
    await sendUntil(sink, () => server.taken(1))
    await sendUntil(sink, () => server.taken(2))
    expect(server.sockets).toHaveLength(2)
    await expect(
      Promise.resolve(sink.send([streamItem(1)], { signal: AbortSignal.abort('at once') } as SinkContext)),
    ).rejects.toBe('at once')
    await sink.close?.()
  },
)
