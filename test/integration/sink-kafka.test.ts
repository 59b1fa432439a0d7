import { expect, test } from 'vitest'
import kafkaKind from '../../handlers/sinks/kafka.ts'
import type { SinkContext } from '../../src/dispatch/define-sink.ts'
import { kcat, startKafkaMock } from '../support/kafka-mock.ts'
import { streamItem } from '../support/stream-sinks.ts'

const context = { signal: new AbortController().signal } as SinkContext
test.skipIf(kcat === null)(
  'produces to a Kafka topic, events of one key in order to one partition (needs kcat)',
  async () => {
    const mock = await startKafkaMock(kcat!, 'events')
    const sink = kafkaKind.create({
      name: 'out',
      options: kafkaKind.options.parse({ brokers: mock.brokers, topic: 'events' }),
    })
    await sink.send([streamItem(1), streamItem(2, { key: null, payload: { note: 'ü' } })], context)
    for (const n of [3, 4]) await sink.send([streamItem(n)], context)
    await sink.close?.()
    const records = await mock.records(4)
    const keyed = records.filter(({ key }) => key === 'base:0xabc')
    expect(keyed.map(({ payload }) => JSON.parse(payload).id)).toEqual(['evt_1', 'evt_3', 'evt_4'])
    expect(new Set(keyed.map(({ partition }) => partition)).size).toBe(1)
    expect(keyed[0].headers).toEqual([
      'idempotency-key',
      'sink:evt_1',
      'event-id',
      'evt_1',
      'event-type',
      'wallet.large_trade',
    ])
    expect(records.find(({ key }) => key === 'evt_2')).toMatchObject({ topic: 'events', payload: '{"note":"ü"}' })
  },
)
