import {
  acceptance,
  forgery,
  methods,
  rawBytes,
  rotation,
  sizes,
  tampering,
  unknown,
  unusable,
  type Case,
  type Check,
  type Need,
} from './cases.ts'
import { connections, type Context, type Delivery, type TestEvent } from './context.ts'
import { accepted, isHere, type Advice, type Expectation } from './judge.ts'
import type { WriteBytes } from './context.ts'

const list = (length: number, create: () => TestEvent) => Array.from({ length }, create)
const uniqueKey = 'let a unique key of the store decide which delivery is first, instead of a look-up before the insert'
const answerLosers: Advice = ({ status }) =>
  status === 409 || (status !== null && status >= 500)
    ? 'answer 200 to a delivery that loses the race: catch the error of the unique key. The log of the receiver shows what failed'
    : undefined
const knownId: Advice = ({ status }, index) =>
  index > 0 && status !== null && status >= 400 && status < 500
    ? 'answer 200 to a known id: the service retries after any other answer'
    : undefined

const repeated: Case = {
  sent: 'one event 4 times, one after the other',
  deliver: ({ newEvent, deliverInTurn }) => deliverInTurn(Array<TestEvent>(4).fill(newEvent())),
  checks: [
    { rule: 'every delivery of one event is acknowledged', expected: accepted, todo: knownId },
    { rule: 'an event that was delivered several times is done once', expected: 'once', todo: uniqueKey },
  ],
}

const atOnce: Case = {
  sent: 'one event 20 times at once',
  deliver: ({ newEvent, deliver }) =>
    Promise.all(
      Array<TestEvent>(20)
        .fill(newEvent())
        .map((event) => deliver(event)),
    ),
  checks: [
    {
      rule: '20 deliveries of one event at the same time are all acknowledged',
      expected: accepted,
      todo: answerLosers,
    },
    { rule: 'an event that came 20 times at once is done once', expected: 'once', todo: uniqueKey },
  ],
}

/** Time limit for slow connections before the last bytes are sent. */
const readyLimitMs = 1_000

/** Deliveries as simultaneous as possible: each holds back its last byte until all others are ready. */
async function deliverTogether({ newEvent, deliver, wait }: Context, count: number): Promise<readonly Delivery[]> {
  const event = newEvent()
  const ready = Promise.withResolvers<void>()
  const start = Promise.race([ready.promise, wait(readyLimitMs)])
  let left = count
  const pace = async (write: WriteBytes) => {
    await write(event.body.subarray(0, -1))
    if (--left === 0) ready.resolve()
    await start
    await write(event.body.subarray(-1))
  }
  return Promise.all(Array.from({ length: count }, () => deliver(event, { pace })))
}

const race: Case = {
  sent: '3 events, each 20 times with the last bytes at the same moment',
  async deliver(context) {
    const rounds = []
    for (let round = 0; round < 3; round++) rounds.push(await deliverTogether(context, 20))
    return rounds.flat()
  },
  checks: [
    {
      rule: 'deliveries of one event that end at the same moment are all acknowledged',
      expected: accepted,
      todo: answerLosers,
    },
    { rule: 'events whose deliveries end at the same moment are done once', expected: 'once', todo: uniqueKey },
  ],
}

/** Delivers events of one wallet, of these ages in minutes, one after the other. */
function deliverSeries({ newEvent, newWallet, deliverInTurn }: Context, ages: readonly number[]) {
  const wallet = newWallet()
  return deliverInTurn(ages.map((age) => newEvent({ wallet, ageMs: age * 60_000 })))
}

/** The service promises no order; many receivers do. */
const order: Case = {
  sent: '10 events of one wallet, each after the acknowledgement of the one before',
  deliver: (context) => deliverSeries(context, Array<number>(10).fill(0)),
  checks: [
    {
      rule: 'events of one wallet are done in the order of their acknowledgements',
      expected: 'in order',
      todo: 'process the events of a wallet one at a time, in the order of acceptance (or --skip order)',
    },
  ],
}

/** Retries arrive late: the last one comes 10 h 36 min after the first delivery. */
const outOfOrder: Case = {
  sent: '4 events of one wallet, created now, 10 h 36 min ago, 1 min ago and 5 h ago',
  deliver: (context) => deliverSeries(context, [0, 636, 1, 300]),
  checks: [
    { rule: 'events that are older than an earlier one are acknowledged', expected: accepted },
    {
      rule: 'events that are older than an earlier one are done once',
      expected: 'once',
      todo: 'accept events older than the newest one: they are late, not duplicates',
    },
  ],
}

const slowMs = 3_000
const pieces = 6
const others = 20

const inTheEnd: Expectation = {
  expected: (timeoutMs) => `2xx, or 408, within ${timeoutMs} ms of its end`,
  holds: ({ status }) => status !== null && (status < 300 || status === 408),
  advice: () => 'read the whole body, up to Content-Length, before processing it',
}

const slow: Case = {
  sent: `${others} events while the body of another one takes ${slowMs} ms`,
  async deliver({ newEvent, deliver, wait, timeoutMs }) {
    const event = newEvent()
    const size = Math.ceil(event.body.length / pieces)
    const pace = async (write: WriteBytes) => {
      for (let piece = 0; piece < pieces; piece++) {
        if (piece > 0) await wait(slowMs / (pieces - 1))
        await write(event.body.subarray(piece * size, (piece + 1) * size))
      }
    }
    const deliverOthers = async () => {
      const deliveries: Delivery[] = []
      for (const other of list(others, newEvent)) {
        await wait(slowMs / 2 / others)
        deliveries.push(await deliver(other))
      }
      return deliveries
    }
    const late = deliver(event, { pace, limitMs: slowMs + timeoutMs, part: 'slow' })
    return (await Promise.all([late, deliverOthers()])).flat()
  },
  checks: [
    {
      rule: 'events are acknowledged in time while the body of another one is still coming',
      expected: accepted,
      todo: ({ status }) =>
        status === null || status <= 299
          ? 'never let one connection block another: use a thread for each, or non-blocking reads'
          : undefined,
    },
    {
      rule: 'a body that takes 3 s is answered in the end',
      expected: inTheEnd,
      part: 'slow',
      sent: `an event whose body takes ${slowMs} ms`,
    },
  ],
}

/** Number and pause (ms) of attempts while a restarted receiver answers 503. */
const maxAttempts = 40
const pauseMs = 250

const back: Expectation = {
  expected: () => 'an answer of the receiver afterwards',
  holds: isHere,
  advice: () => 'let the command exit with 0 once the receiver runs, in the background, at the same --url',
}

/** A restart, with events long before it and right before it. */
const restart: Case = {
  needs: 'restart',
  sent: '3 events, a restart, and the same events again',
  async deliver({ newEvent, deliver, deliverInTurn, effects, restart: restartReceiver, wait }) {
    const known = list(3, newEvent)
    await deliverInTurn(known)
    // Only finished work can be repeated wrongly.
    await effects?.judge({ sent: '', rule: 'done', ids: known.map(({ id }) => id), todo: '' })
    const fresh = await deliverInTurn(list(20, newEvent), { part: 'fresh' })
    const answer = await restartReceiver()
    const restarted = { answer, part: 'restart' }
    if (!isHere(answer)) return [restarted]
    const again: Delivery[] = []
    for (const event of known) {
      let delivery = await deliver(event)
      for (let n = 1; n < maxAttempts && delivery.answer.status === 503; n++) {
        await wait(pauseMs)
        delivery = await deliver(event)
      }
      again.push(delivery)
    }
    return [restarted, ...again, ...fresh]
  },
  checks: [
    {
      rule: 'the receiver answers again after a restart',
      expected: back,
      part: 'restart',
      sent: 'the command of --restart',
    },
    { rule: 'an event from before a restart is acknowledged when it comes again', expected: accepted },
    {
      rule: 'an event that was done before a restart is not done again',
      expected: 'once',
      todo: 'keep event ids in a store that outlives the process',
    },
    {
      rule: 'events that were acknowledged right before a restart are done',
      expected: 'done',
      part: 'fresh',
      sent: '20 events, and a restart at once',
      todo: 'write an event to the disk before answering 2xx; mark it as done after processing it',
    },
  ],
}

/** The last retry of the service comes 10 h 36 min after the first delivery. */
const late: Case = {
  sent: 'one event, many others (--many), and the first one again',
  async deliver({ newEvent, deliver, deliverMany }) {
    const event = newEvent()
    const first = await deliver(event)
    await deliverMany()
    return [first, await deliver(event)]
  },
  checks: [
    { rule: 'an event that comes again after many others is acknowledged', expected: accepted },
    {
      rule: 'an event that comes again after many others is done once',
      expected: 'once',
      todo: 'keep event ids for 30 days, in a store rather than in a list of the latest ones',
    },
  ],
}

const burst: Case = {
  sent: `many events (--many) over ${connections} connections`,
  deliver: ({ deliverMany }) => deliverMany(),
  checks: [
    { rule: 'each event of a burst is acknowledged in time', expected: accepted },
    {
      rule: 'each acknowledged event of a burst is done',
      expected: 'done',
      todo: 'store an event before its delivery is answered 2xx',
    },
  ],
}

/** All scenarios in order. Those that cause much work come last. */
export const scenarios: Readonly<Record<string, readonly Case[]>> = {
  acceptance,
  'raw-bytes': rawBytes,
  unknown,
  forgery,
  tampering,
  unusable,
  methods,
  sizes,
  rotation,
  repeated: [repeated],
  'at-once': [atOnce],
  race: [race],
  order: [order],
  'out-of-order': [outOfOrder],
  slow: [slow],
  restart: [restart],
  late: [late],
  burst: [burst],
}

/** The options that a check needs. */
export function needsOf({ needs }: Case, check: Check): readonly Need[] {
  return [
    ...(needs === undefined ? [] : [needs]),
    ...(typeof check.expected === 'string' ? (['effects'] as const) : []),
  ]
}
