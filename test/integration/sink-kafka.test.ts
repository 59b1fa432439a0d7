import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import kafkaKind from '../../handlers/sinks/kafka.ts'
import type { SinkContext } from '../../src/dispatch/define-sink.ts'
import { debianProgram, type Program } from '../support/debian.ts'
import { streamItem } from '../support/stream-sinks.ts'

const context = { signal: new AbortController().signal } as SinkContext
const kcat = await debianProgram('kcat', ['kcat', 'librdkafka1', 'libyajl2'])

/** A consumer of a topic with a mock cluster of librdkafka in the same process. */
async function startMock({ file, env }: Program, topic: string) {
  const args = [
    '-b',
    'mock',
    '-X',
    'test.mock.num.brokers=1',
    '-d',
    'mock',
    '-C',
    '-t',
    topic,
    '-o',
    'beginning',
    '-u',
    '-J',
  ]
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const brokers = Promise.withResolvers<string>()
  createInterface(child.stderr).on('line', (line) => {
    const [, address] = /replaced with (\S+)/.exec(line) ?? []
    if (address !== undefined) brokers.resolve(address)
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    brokers: await brokers.promise,
    /** The next records, of all partitions in any order. */
    async records(count: number) {
      const read = async () => JSON.parse((await lines.next()).value as string)
      const records = []
      while (records.length < count) records.push(await read())
      return records
    },
  }
}

test.skipIf(kcat === null)(
  'produces to a Kafka topic, events of one key in order to one partition (needs kcat)',
  async () => {
    const mock = await startMock(kcat!, 'events')
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
      'out:evt_1',
      'event-id',
      'evt_1',
      'event-type',
      'wallet.large_trade',
    ])
    expect(records.find(({ key }) => key === 'evt_2')).toMatchObject({ topic: 'events', payload: '{"note":"ü"}' })
  },
)
