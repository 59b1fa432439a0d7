import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { createClient } from '@redis/client'
import { createSignedRequest } from '../../src/app/testing/index.ts'
import { startTestApp } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { debianProgram, startServer } from '../support/debian.ts'
import { FakeChat } from '../support/fake-chat.ts'
import {
  botToken,
  discordRules,
  pagerdutyRules,
  routingKey,
  slackRules,
  telegramRules,
} from '../support/fake-chat-rules.ts'
import { kcat, startKafkaMock } from '../support/kafka-mock.ts'
import { deliver, eventBytes } from '../support/signed.ts'
import { startSmtp } from '../support/smtp.ts'
import { rowsOf } from '../support/sqlite-files.ts'
import { freePort } from '../support/stream-sinks.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const nats = await debianProgram('nats-server', ['nats-server'])
const redis = await debianProgram('redis-server', ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'])

const desk = {
  path: '/hooks/desk',
  secrets: 'secret-of-the-desk',
  verify: { scheme: 'hmac-sha256', header: 'x-signature' },
  id: 'body.id',
  type: 'body.type',
} as const

interface CloudEvent {
  readonly id: string
  readonly source: string
}

/** The same id and type from two sources, each delivered twice: two events, so two effects in each sink. */
test('one id from two sources has two effects in every sink', async () => {
  await using opened = new AsyncDisposableStack()
  const startFake = async (rules: Parameters<typeof FakeChat.start>[0]) => opened.use(await FakeChat.start(rules))
  const folder = opened.use(await createTempDir()).path
  const server = opened.use(await AppServer.start())
  const smtp = opened.use(await startSmtp())
  const [slack, discord, telegram] = [
    await startFake(slackRules),
    await startFake(discordRules),
    await startFake(telegramRules),
  ]
  const pagerduty = await startFake(pagerdutyRules)
  const to = (format: 'raw' | 'cloudevents') => ({
    kind: 'forward',
    url: `http://127.0.0.1:${server.port}/${format}`,
    format,
  })
  const [natsUrl, redisUrl] = [`nats://127.0.0.1:${await freePort()}`, `redis://127.0.0.1:${await freePort()}`]
  if (nats !== null) {
    const port = new URL(natsUrl).port
    opened.use(await startServer(nats, ['-a', '127.0.0.1', '-p', port, '-js', '-sd', folder], Number(port)))
  }
  if (redis !== null) {
    const port = new URL(redisUrl).port
    opened.use(
      await startServer(redis, ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', ''], Number(port)),
    )
  }
  const kafka = kcat && (await startKafkaMock(kcat, 'events'))
  const connection = nats === null ? null : await connect({ servers: natsUrl })
  const manager = connection && (await jetstreamManager(connection))
  await manager?.streams.add({ name: 'ONCHAIN', subjects: ['onchain.>'] })

  const sinks = {
    raw: to('raw'),
    cloudevents: to('cloudevents'),
    standard: {
      kind: 'forward',
      url: `http://127.0.0.1:${server.port}/standard-webhooks`,
      signature: 'standard-webhooks',
      secret: `whsec_${btoa('secret-of-the-sink-for-tests')}`,
    },
    slack: { kind: 'slack', url: slack.url },
    discord: { kind: 'discord', url: discord.url },
    telegram: { kind: 'telegram', token: botToken, chatId: 42, baseUrl: `${telegram.origin}/` },
    pagerduty: { kind: 'pagerduty', routingKey, baseUrl: pagerduty.origin, minSeverity: 'info' },
    email: { kind: 'email', url: `smtp://127.0.0.1:${smtp.port}`, from: 'a@example.com', to: 'b@example.com' },
    exec: { kind: 'exec', command: ['sh', '-c', `echo "$INBOX_EVENT_ID" >> ${join(folder, 'exec')}`] },
    file: { kind: 'file', path: join(folder, 'events.ndjson') },
    sql: { kind: 'sql', url: `sqlite:${join(folder, 'sink.db')}` },
    ...(nats !== null && { nats: { kind: 'nats', servers: natsUrl, stream: 'ONCHAIN' } }),
    ...(kafka !== null && { kafka: { kind: 'kafka', brokers: kafka.brokers, topic: 'events' } }),
    ...(redis !== null && { redis: { kind: 'redis', url: redisUrl, stream: 'events' } }),
  }
  const ofAll = Object.fromEntries(
    Object.entries(sinks).map(([name, sink]) => [name, { ...sink, types: '*', source: '*' }]),
  )
  await using app = await startTestApp({
    settings: { INBOX_SOURCES: JSON.stringify({ desk }), INBOX_SINKS: JSON.stringify(ofAll) },
  })
  const body = eventBytes({ id: 'same', type: 'contract.honeypot_detected', data: { symbol: 'TRAP' } })
  for (let attempt = 0; attempt < 2; attempt++) {
    await deliver(app, body)
    const request = await createSignedRequest({ source: desk, body: body.toString() })
    expect((await fetch(app.url.replace('/webhooks', desk.path), request)).status).toBe(200)
  }
  await until(async () => {
    const { handlers } = await app.inbox.stats()
    return handlers.every(({ waiting, ready, suspect, running }) => waiting + ready + suspect + running === 0)
  }, 'all is sent')
  expect(await app.inbox.deadLetters({ limit: 9 })).toMatchObject({ data: [] })

  const ids = ['same', 'desk/same']
  const ofPath = (path: string) => server.requests.filter((request) => request.path === path)
  const ofRaw = ofPath('/raw').map(({ headers }) => [headers['idempotency-key'], headers['x-inbox-event-id']].join(' '))
  expect(ofRaw.toSorted()).toEqual(['raw:desk/same desk/same', 'raw:same same'])
  const ofCloudEvents = ofPath('/cloudevents').map((sent) => JSON.parse(sent.body.toString()) as CloudEvent)
  expect(ofCloudEvents.map(({ id, source }) => `${id} ${source}`).toSorted()).toEqual([
    'desk/same urn:onchain-inbox/desk',
    'same urn:onchain-inbox',
  ])
  expect(new Set(ofPath('/standard-webhooks').map(({ headers }) => headers['webhook-id'])).size).toBe(2)
  for (const { shown } of [slack, discord, telegram]) expect(shown.join('\n').match(/is a honeypot/g)).toHaveLength(2)
  expect(new Set(pagerduty.accepted.map((accepted) => accepted.body['dedup_key']))).toEqual(new Set(ids))
  expect(smtp.mails).toHaveLength(2)
  expect(new Set(smtp.mails.map(({ headers }) => headers.get('message-id')?.[0])).size).toBe(2)
  expect((await readFile(join(folder, 'exec'), 'utf8')).trim().split('\n').toSorted()).toEqual(ids.toSorted())
  expect((await readFile(join(folder, 'events.ndjson'), 'utf8')).trim().split('\n')).toHaveLength(2)
  const database = join(folder, 'sink.db')
  const tables = rowsOf<{ name: string }>(
    database,
    `SELECT s.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND c.name = 'event_id'`,
  )
  const rows = tables.flatMap(({ name }) => rowsOf<{ event_id: string }>(database, `SELECT event_id FROM "${name}"`))
  expect(rows.map((row) => row.event_id).toSorted((a, b) => a.localeCompare(b))).toEqual(ids.toSorted())
  if (connection !== null && manager !== null) {
    const consumer = await jetstream(connection).consumers.get('ONCHAIN')
    const messages = await consumer.fetch({ max_messages: 2 })
    const received: string[] = []
    for await (const message of messages) received.push(message.headers?.get('Inbox-Event-Id') ?? '')
    expect(received.toSorted()).toEqual(ids.toSorted())
    expect((await manager.streams.info('ONCHAIN')).state.messages).toBe(2)
    await connection.close()
  }
  if (kafka !== null) {
    const records = (await kafka.records(2)) as readonly { readonly headers: readonly string[] }[]
    expect(records.map(({ headers }) => String(headers[headers.indexOf('event-id') + 1])).toSorted()).toEqual(
      ids.toSorted(),
    )
  }
  if (redis !== null) {
    const client = await createClient({ url: redisUrl }).connect()
    const entries = (await client.xRange('events', '-', '+')) ?? []
    expect(entries.map(({ message }) => String(message['id'])).toSorted()).toEqual(ids.toSorted())
    await client.close()
  }
})
