import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { debianProgram, type Program } from './debian.ts'

/** Null if this machine can't have it. */
export const kcat = await debianProgram('kcat', ['kcat', 'librdkafka1', 'libyajl2'])

/** A consumer of a topic with a mock cluster of librdkafka in the same process. */
export async function startKafkaMock({ file, env }: Program, topic: string) {
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
