import fc from 'fast-check'
import { MessageChannel } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import type { AcceptResult, IncomingDelivery, Effects, Lease, Outcome, DispatchStore } from '../../src/inbox/port.ts'
import {
  answerCalls,
  Caller,
  connectDispatchStore,
  fromWireError,
  openDispatchChannel,
  toWireError,
} from '../../src/inbox/rpc.ts'
import {
  packDeliveries,
  packLeases,
  packOutcomes,
  packResults,
  unpackDeliveries,
  unpackLeases,
  unpackOutcomes,
  unpackResults,
} from '../../src/inbox/wire.ts'

const text = fc.string({ unit: 'binary', maxLength: 20 })
const whole = fc.nat(Number.MAX_SAFE_INTEGER)
const raw = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))
const common = { id: text, receivedAt: whole, secretLabel: text, raw }

const arrival: fc.Arbitrary<IncomingDelivery> = fc.oneof(
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

const verdict = { runId: whole, token: whole, startedAt: whole, endedAt: whole }
const error = fc.record({ name: text, message: text, stack: text }, { requiredKeys: ['name', 'message'] })

const found = fc.array(fc.record({ key: text, version: whole }))
const query = fc.oneof(fc.record({ key: text }), fc.record({ prefix: text, after: fc.option(text), limit: whole }))
const effects: fc.Arbitrary<Effects> = fc.record({
  reads: fc.array(fc.record({ query, found })),
  writes: fc.array(fc.record({ key: text, value: fc.option(text), expiresAt: fc.option(whole) })),
  items: fc.array(fc.record({ sink: text, key: fc.option(text), payload: text, idempotencyKey: text })),
})

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ ...verdict, kind: fc.constant('done' as const), effects }),
  fc.record({ ...verdict, kind: fc.constant('done' as const) }),
  fc.record({ ...verdict, kind: fc.constant('retry' as const), at: whole, error }),
  fc.record({ ...verdict, kind: fc.constant('dead' as const), error }),
  fc.record({ ...verdict, kind: fc.constant('snooze' as const), at: whole }),
  fc.record({ ...verdict, kind: fc.constantFrom('expired' as const, 'unmatched' as const) }),
)

const result = fc.constantFrom<AcceptResult>('accepted', 'duplicate', 'conflict', 'quarantined')

/** The value as the other thread gets it. */
async function carried<T>(value: T): Promise<T> {
  const { port1, port2 } = new MessageChannel()
  try {
    const received = new Promise<T>((resolve) => port2.once('message', (message: T) => resolve(message)))
    port1.postMessage(value)
    return await received
  } finally {
    port1.close()
  }
}

/** An endpoint of calls and one that answers them, as in two threads. */
function connect(operations: object): { caller: Caller; [Symbol.dispose](): void } {
  const { port1, port2 } = new MessageChannel()
  answerCalls(port2, operations)
  const caller = new Caller(port1)
  port1.on('message', (message) => caller.receive(message))
  return { caller, [Symbol.dispose]: () => port1.close() }
}

describe('a batch that crosses threads', () => {
  test('of arrivals comes out as it went in, bytes included', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arrival, { maxLength: 12 }), async (batch) => {
        expect(unpackDeliveries(await carried(packDeliveries(batch)))).toEqual(batch)
      }),
    )
  })

  test('of leases comes out as it went in, bytes included', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(lease, { maxLength: 12 }), async (leases) => {
        expect(unpackLeases(await carried(packLeases(leases)))).toEqual(leases)
      }),
    )
  })

  test('of outcomes comes out as it went in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(outcome, { maxLength: 12 }), async (outcomes) => {
        expect(unpackOutcomes(await carried(packOutcomes(outcomes)))).toEqual(outcomes)
      }),
    )
  })

  test('of results comes out as it went in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(result, { maxLength: 12 }), async (results) => {
        expect(unpackResults(await carried(packResults(results)))).toEqual(results)
      }),
    )
  })

  test('copies exactly the bytes of a view, all 256 values, and leaves the original to the sender', async () => {
    const pool = Uint8Array.from({ length: 512 }, (_, n) => n % 256)
    const raw = pool.subarray(100, 400)
    const before = Buffer.from(raw)
    const quarantined = {
      kind: 'quarantined',
      id: 'sha256:a',
      reason: 'not_json',
      receivedAt: 1,
      secretLabel: 'm',
    } as const
    const [arrived] = unpackDeliveries(await carried(packDeliveries([{ ...quarantined, raw }])))
    expect(arrived?.raw).toEqual(before)
    expect(Buffer.from(raw)).toEqual(before)
  })
})

test('headers that are the same cross threads once', () => {
  const headers = JSON.stringify({ 'user-agent': 'sender/1' })
  const event = {
    kind: 'event',
    id: 'a',
    receivedAt: 1,
    secretLabel: 'm',
    raw: Buffer.from('{}'),
    type: 't',
    createdAt: 'now',
    key: 'a',
    network: null,
    address: null,
    trace: null,
  } as const
  const batch = [
    { ...event, headers },
    { ...event, headers: null },
    { ...event, headers },
    { ...event, headers: '{}' },
  ]
  const value = packDeliveries(batch)
  expect(value.filter((field) => field === headers)).toHaveLength(1)
  expect(unpackDeliveries(value).map((arrival) => 'headers' in arrival && arrival.headers)).toEqual([
    headers,
    null,
    headers,
    '{}',
  ])
})

describe('calls to another thread', () => {
  test('each get their own answer, in whatever order the answers come', async () => {
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

  test('of one turn leave as one message', async () => {
    const posted: unknown[] = []
    const caller = new Caller({ postMessage: (message: unknown) => void posted.push(message) })
    const calls = [1, 2, 3].map((n) => caller.call<number>('op', [n]))
    const fourth = Promise.resolve().then(() => caller.call<number>('op', [4]))
    await new Promise((resolve) => setImmediate(resolve))
    expect(posted).toHaveLength(1)
    caller.receive([1, 2, 3, 4].map((call) => ({ call, value: call * 10 })))
    expect(await Promise.all([...calls, fourth])).toEqual([10, 20, 30, 40])
  })

  test('that fail reject with the same code and message', async () => {
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

  test('reject when the other side is gone: those that wait, and all later ones', async () => {
    using other = connect({ never: () => new Promise<never>(() => {}) })
    const gone = new InboxError('store_unavailable', 'the writer thread ended')
    const waiting = [other.caller.call('never', [0]), other.caller.call('never', [0])]
    other.caller.end(gone)
    other.caller.end(new Error('a later reason'))
    for (const call of [...waiting, other.caller.call('never', [0])]) await expect(call).rejects.toBe(gone)
  })

  test('leave messages of other kinds to others', () => {
    const caller = new Caller({ postMessage: () => {} })
    expect(caller.receive({ health: { ok: true, reason: '' } })).toBe(false)
    expect(caller.receive([])).toBe(true)
  })

  test('keep every error code that is known, and call the rest internal', () => {
    fc.assert(
      fc.property(text, text, (code, message) => {
        const known = new InboxError('database_newer', message)
        expect(fromWireError(toWireError(known))).toMatchObject({ code: 'database_newer' })
        expect(fromWireError({ code: `x-${code}`, message }).code).toBe('internal')
      }),
    )
  })
})

test('the work side answers over a port as it does in place', async () => {
  const asked: unknown[] = []
  const given = fc.sample(lease, 3)
  const note = async <T>(answer: T, ...args: unknown[]) => {
    asked.push(args)
    return answer
  }
  const entry = { key: 'k', value: '1', version: 9, expiresAt: null }
  const crashed = { handler: 'a', eventId: 'e', attempt: 3, error: { name: 'handler_crashed', message: 'it died' } }
  const reaped = { runs: 7, dead: [crashed] }
  const work: DispatchStore = {
    register: (routes) => note({ a: 3 }, 'register', routes),
    claim: (request) => note(given, 'claim', request),
    readState: (handler, query) => note([entry], 'readState', handler, query),
    settle: (outcomes) => note(['applied', 'stale'] as const, 'settle', outcomes),
    retire: (owner, running) => note(undefined, 'retire', owner, running),
    release: (leases) => note(undefined, 'release', leases),
    reap: (owner) => note(reaped, 'reap', owner),
  }
  const port = openDispatchChannel(work)
  try {
    const remote = connectDispatchStore(port)
    const request = { handlers: ['a'], max: 3, owner: 'me', suspects: false }
    const attempt = { runId: 1, token: 2, startedAt: 3, endedAt: 4 }
    const error = { name: 'Error', message: 'boom' }
    const outcomes = [
      { ...attempt, kind: 'done' },
      { ...attempt, kind: 'retry', at: 5, error },
    ] as const
    expect(await remote.register([{ name: 'a', types: ['*'], order: 'key' }])).toEqual({ a: 3 })
    expect(await remote.claim(request)).toEqual(given)
    expect(await remote.readState('a', { key: 'k' })).toEqual([entry])
    expect(await remote.settle(outcomes)).toEqual(['applied', 'stale'])
    await remote.retire('me', [7])
    await remote.release(given)
    expect(await remote.reap('me')).toEqual(reaped)
    expect(asked).toEqual([
      ['register', [{ name: 'a', types: ['*'], order: 'key' }]],
      ['claim', request],
      ['readState', 'a', { key: 'k' }],
      ['settle', outcomes],
      ['retire', 'me', [7]],
      ['release', given.map(({ runId, token }) => ({ runId, token }))],
      ['reap', 'me'],
    ])
  } finally {
    port.close()
  }
})
