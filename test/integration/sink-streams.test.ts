import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { createClient } from '@redis/client'
import { expect, test } from 'vitest'
import natsKind from '../../handlers/sinks/nats.ts'
import redisKind from '../../handlers/sinks/redis.ts'
import type { SinkContext } from '../../src/dispatch/define-sink.ts'
import { debianProgram, startServer } from '../support/debian.ts'
import { freePort, streamItem } from '../support/stream-sinks.ts'
import { createTempDir } from '../support/temp-dir.ts'

const context = { signal: new AbortController().signal } as SinkContext
const nats = await debianProgram('nats-server', ['nats-server'])
const redis = await debianProgram('redis-server', ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'])

test.skipIf(nats === null)('publishes each event once to JetStream (needs nats-server)', async () => {
  await using dir = await createTempDir()
  const port = await freePort()
  const args = ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', dir.path]
  const servers = `nats://127.0.0.1:${port}`
  const options = natsKind.options.parse({ servers, stream: 'ONCHAIN' })
  const sink = natsKind.create({ name: 'out', options })
  {
    await using _server = await startServer(nats!, args, port)
    const connection = await connect({ servers })
    const manager = await jetstreamManager(connection)
    // The stream does not exist yet.
    await expect(sink.send([streamItem(1)], context)).rejects.toThrow()
    await manager.streams.add({ name: 'ONCHAIN', subjects: ['onchain.>'] })
    for (const n of [1, 2, 2, 1]) await sink.send([streamItem(n)], context)
    await sink.send([streamItem(3, { payload: { note: 'ü' }, key: null, idempotencyKey: 'big:evt_3:0' })], context)
    await sink.send([streamItem(1, { source: 'desk' })], context)
    const consumer = await jetstream(connection).consumers.get('ONCHAIN')
    const messages = []
    for await (const message of await consumer.fetch({ max_messages: 4 })) messages.push(message)
    expect(messages.map(({ subject }) => subject)).toEqual([
      ...Array(3).fill('onchain.base.wallet.large_trade'),
      // The body of another source is in any format.
      'onchain.none.wallet.large_trade',
    ])
    const [first, , third, ofDesk] = messages
    expect(Buffer.from(first!.data).equals(Buffer.from(streamItem(1).event.raw))).toBe(true)
    expect(first!.headers!.get('Nats-Msg-Id')).toBe('sink:evt_1')
    expect(first!.headers!.get('Inbox-Event-Id')).toBe('evt_1')
    expect(first!.headers!.get('Inbox-Key')).toBe('base:0xabc')
    expect(third!.json()).toEqual({ note: 'ü' })
    expect(ofDesk!.headers!.get('Inbox-Event-Id')).toBe('desk/evt_1')
    expect((await manager.streams.info('ONCHAIN')).state.messages).toBe(4)
    await connection.close()
  }
  await expect(sink.send([streamItem(4)], context)).rejects.toThrow()
  {
    await using _server = await startServer(nats!, args, port)
    await expect
      .poll(() => Promise.resolve(sink.send([streamItem(4)], context)).then(() => 'sent', String))
      .toBe('sent')
    await sink.close?.()
  }
})

test.skipIf(redis === null)('adds each event once to a Redis stream, in order (needs redis-server)', async () => {
  await using dir = await createTempDir()
  const port = await freePort()
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    dir.path,
    '--save',
    '',
    '--requirepass',
    'pass-of-redis',
  ]
  const url = `redis://:pass-of-redis@127.0.0.1:${port}`
  const sink = redisKind.create({ name: 'out', options: redisKind.options.parse({ url, stream: 'events' }) })
  await expect(sink.send([streamItem(1)], context)).rejects.toThrow('ECONNREFUSED')
  {
    await using _server = await startServer(redis!, args, port)
    for (const n of [1, 2, 2, 1]) await sink.send([streamItem(n)], context)
    await Promise.all(
      [3, 3, 3].map(async (n) => sink.send([streamItem(n, { payload: { note: 'ü' }, key: null })], context)),
    )
    const client = await createClient({ url }).connect()
    const entries = (await client.xRange('events', '-', '+')) ?? []
    expect(entries.map(({ message }) => message['id'])).toEqual(['evt_1', 'evt_2', 'evt_3'])
    expect(entries[0]!.message).toEqual({
      id: 'evt_1',
      type: 'wallet.large_trade',
      key: 'base:0xabc',
      idempotency_key: 'sink:evt_1',
      body: Buffer.from(streamItem(1).event.raw).toString(),
    })
    expect(entries[2]!.message).toMatchObject({ key: '', body: '{"note":"ü"}' })
    // A full server marks nothing as sent.
    await client.configSet('maxmemory', '1')
    await expect(sink.send([streamItem(5)], context)).rejects.toThrow('OOM')
    await client.configSet('maxmemory', '0')
    await sink.send([streamItem(5)], context)
    expect(await client.xLen('events')).toBe(4)
    await client.close()
  }
  await expect(sink.send([streamItem(6)], context)).rejects.toThrow()
  {
    await using _server = await startServer(redis!, args, port)
    await sink.send([streamItem(6)], context)
    await sink.close?.()
  }
})
