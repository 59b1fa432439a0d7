import fc from 'fast-check'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import type { IncomingDelivery, Lease } from '../../src/inbox/port.ts'
import { answerCalls, Caller } from '../../src/inbox/rpc.ts'

const text = fc.string({ unit: 'binary', maxLength: 20 })
const whole = fc.nat(Number.MAX_SAFE_INTEGER)
const raw = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))
const common = { id: text, receivedAt: whole, secretLabel: text, raw }

const delivery: fc.Arbitrary<IncomingDelivery> = fc.oneof(
  fc.record({ kind: fc.constant('quarantined' as const), ...common, reason: text }),
  fc.record({
    kind: fc.constant('event' as const),
    ...common,
    type: text,
    createdAt: text,
    key: text,
    network: fc.option(text),
    address: fc.option(text),
    headers: fc.option(fc.oneof(text, fc.constantFrom('{}', '{"host":"a"}'))),
    trace: fc.option(text),
    stableDigest: fc.option(text),
  }),
)

const lease: fc.Arbitrary<Lease> = fc.record({
  runId: whole,
  token: whole,
  handler: text,
  attempt: whole,
  failed: whole,
  crashed: whole,
  event: fc.record({
    seq: whole,
    id: text,
    type: text,
    createdAt: text,
    receivedAt: whole,
    key: text,
    secretLabel: text,
    raw,
    trace: fc.option(text, { nil: null }),
  }),
  key: fc.option(text),
  replay: fc.option(fc.record({ id: whole, newKeys: fc.boolean() })),
  item: fc.option(fc.record({ payload: text, idempotencyKey: text })),
})

/** A caller and the answering side, as in two threads. */
function connect(operations: object): { caller: Caller; [Symbol.dispose](): void } {
  const { port1, port2 } = new MessageChannel()
  answerCalls(port2, operations)
  const caller = new Caller(port1)
  port1.on('message', (message) => caller.receive(message))
  return { caller, [Symbol.dispose]: () => port1.close() }
}

/** Sends batches as the argument (or the result) of an operation. Expects equal values on the other side. */
async function expectCopies<T>(op: string, batches: fc.Arbitrary<T>, isResult = false): Promise<void> {
  let value: unknown
  using other = connect({ [op]: async (argument: unknown) => (isResult ? value : void (value = argument)) })
  const check = async (batch: T) => {
    if (isResult) value = batch
    const result = await other.caller.call(op, isResult ? [] : [batch])
    expect(isResult ? result : value).toEqual(batch)
  }
  await fc.assert(fc.asyncProperty(batches, check))
}

test('batches of deliveries are copied between threads with their bytes', () =>
  expectCopies('accept', fc.array(delivery, { maxLength: 12 })))
test('batches of leases are copied between threads with their bytes', () =>
  expectCopies('claim', fc.array(lease, { maxLength: 12 }), true))

test('calls between threads get their own results when the results arrive in another order', async () => {
  const open = new Map<number, () => void>()
  using other = connect({
    double: (n: number) => new Promise<number>((resolve) => open.set(n, () => resolve(n * 2))),
    answer: async (order: readonly number[]) => {
      for (const n of order) open.get(n)?.()
      return order.length
    },
  })
  const calls = [1, 2, 3].map((n) => other.caller.call<number>('double', [n]))
  expect(await other.caller.call('answer', [[3, 1, 2]])).toBe(3)
  expect(await Promise.all(calls)).toEqual([2, 4, 6])
})

test('calls between threads of one turn are sent as one message', async () => {
  const posted: unknown[] = []
  const caller = new Caller({ postMessage: (message: unknown) => void posted.push(message) })
  const calls = [1, 2, 3].map((n) => caller.call<number>('op', [n]))
  const fourth = Promise.resolve().then(() => caller.call<number>('op', [4]))
  await new Promise((resolve) => setImmediate(resolve))
  expect(posted).toHaveLength(1)
  caller.receive([1, 2, 3, 4].map((call) => ({ call, value: call * 10 })))
  expect(await Promise.all([...calls, fourth])).toEqual([10, 20, 30, 40])
})

test('calls between threads reject with the code and message of the failed call', async () => {
  using other = connect({
    refuse: async () => {
      throw new InboxError('store_full', 'no space')
    },
    fail: async () => {
      throw new TypeError('a bug')
    },
  })
  await expect(other.caller.call('refuse', [0])).rejects.toMatchObject({
    code: 'store_full',
    message: 'no space',
  })
  await expect(other.caller.call('fail', [0])).rejects.toMatchObject({ code: 'internal', message: 'a bug' })
})
