import { eventTypes } from '../../../schema/index.ts'
import { writeSpaced } from '../../signature/near-misses.ts'
import { sign } from '../../signature/sign.ts'
import { connections, type Context, type Delivery, type TestEvent, type WriteBytes } from './context.ts'
import { accepted, isAccepted, isAnswered, isFromReceiver, rejected } from './judge.ts'
import type { Advice, Check, Expectation, Need } from './judge.ts'

export interface Case {
  readonly needs?: Need
  /** The requests, described for people. */
  readonly sent: string
  deliver(context: Context): Promise<readonly Delivery[]>
  readonly checks: readonly Check[]
}

/** The options that a check needs. */
export function needsOf({ needs }: Case, check: Check): readonly Need[] {
  return [
    ...(needs === undefined ? [] : [needs]),
    ...(typeof check.expected === 'string' ? (['effects'] as const) : []),
  ]
}

type Request = (context: Context) => Promise<Delivery>

/** A case whose single check is about the answer to one request. */
function single(sent: string, request: Request, check: Check): Case {
  return { sent, deliver: async (context) => [await request(context)], checks: [check] }
}

/** A case about one delivery that must be acknowledged. */
function acknowledged(sent: string, request: Request = deliverNew, fix?: Advice): Case {
  return single(sent, request, { rule: `${sent} is acknowledged`, expected: accepted, fix })
}

function deliverNew({ newEvent, deliver }: Context): Promise<Delivery> {
  return deliver(newEvent())
}

type Json = Record<string, unknown>

/** The same event in other bytes. */
function rewrite({ id, body }: TestEvent, write: (event: Json) => string): TestEvent {
  return { id, body: Buffer.from(write(JSON.parse(body.toString()) as Json)) }
}

const plain = (event: Json) => JSON.stringify(event)
const indented = (event: Json) => JSON.stringify(event, null, 2)
const inData = (event: Json, change: Json) => ({ ...event, data: { ...(event['data'] as Json), ...change } })

const amount = 987_654

/** Unusual ways to write JSON: description, writer, and token symbol. The receiver itself would write other bytes. */
const jsonForms: readonly (readonly [string, (event: Json) => string, string?])[] = [
  ['a space after each comma and colon', writeSpaced],
  ['line breaks and indentation', indented],
  ['a line break at the end', (event) => `${plain(event)}\n`],
  ['a whole number as 987654.0', (event) => plain(event).replace(`:${amount}`, `:${amount}.0`)],
  ['a number as 9.87654e5', (event) => plain(event).replace(`:${amount}`, ':9.87654e5')],
  ['letters as \\u00c9, \\u0065 and \\/', escaped, 'PEPÉ🐸'],
  ['unescaped letters beyond ASCII', plain, 'PEPÉ🐸'],
  ['members in another order', (event) => plain(Object.fromEntries(Object.entries(event).toReversed()))],
]

function escaped(event: Json): string {
  return plain(event)
    .replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace('"ethereum"', '"\\u0065thereum"')
    .replace('a/b', 'a\\/b')
}

const overRawBytes =
  'compute the digest over the received bytes, before any parser: JSON that was parsed and written again has other bytes'

const rawBytesCases = jsonForms.map(([form, write, symbol = 'PEPE']) =>
  acknowledged(
    `an event whose JSON has ${form}`,
    ({ newEvent, deliver }) => {
      const event = newEvent({ data: { amount_usd: amount, token_symbol: symbol } })
      return deliver(rewrite(event, (json) => write(inData(json, { note: 'a/b' }))))
    },
    ({ status }) => (status === 401 ? overRawBytes : undefined),
  ),
)

/** Changes that the service may make at any time. */
const upstreamChanges: Readonly<Record<string, (event: Json) => Json>> = {
  'the unknown type token.volume_spike': (event) => ({ ...event, type: 'token.volume_spike', data: { change_pct: 3 } }),
  'the unknown type bridge.transfer_completed': (event) => ({ ...event, type: 'bridge.transfer_completed', data: {} }),
  'an unknown member next to id and type': (event) => ({ ...event, api_version: '1.4' }),
  'unknown fields in data': (event) => inData(event, { gas_usd: 1.25, route: { hops: ['a', 'b'] }, memo: null }),
  'the unknown network zksync': (event) => inData(event, { network: 'zksync' }),
  'the unknown trade_type limit_fill': (event) => inData(event, { trade_type: 'limit_fill' }),
}

/** Makes a signature header, or headers, from the right digest. */
type Forge = (digest: string, event: TestEvent, context: Context) => string | readonly string[] | undefined

const foreignDigest = ({ body }: TestEvent) => sign(body, 'an unknown secret')
const exactHexAdvice =
  'accept a header of exactly 64 hex digits, and answer 401 to anything else before digests are compared'
const oneHeaderAdvice = 'reject a repeated signature header: two programs may read different values'
const emptySecretAdvice =
  'if only this is accepted, one of the secrets of the receiver is empty, such as the text after the last comma of a list'
const otherBytes: Forge = (_, event, { secret }) => sign(rewrite(event, indented).body, secret)

/** Wrong signatures, with advice. */
const forgeries: readonly (readonly [string, Forge, string?])[] = [
  ['no signature', () => undefined],
  ['an empty signature', () => ''],
  ['a signature of 64 zeros', () => '0'.repeat(64)],
  ['a digest made with another secret', (_, event) => foreignDigest(event)],
  ['a digest made with an empty secret', (_, { body }) => sign(body, ''), emptySecretAdvice],
  ['the digest of another event', (_, event, { newEvent, secret }) => sign(newEvent().body, secret)],
  ['the digest of the same JSON in other bytes', otherBytes, overRawBytes],
  ['sha256= before the digest', (digest) => `sha256=${digest}`, exactHexAdvice],
  ['the digest in base64', (digest) => Buffer.from(digest, 'hex').toString('base64'), exactHexAdvice],
  ['the digest without its last digit', (digest) => digest.slice(0, -1), exactHexAdvice],
  ['the digest and one more digit', (digest) => `${digest}0`, exactHexAdvice],
  ['half the digest', (digest) => digest.slice(0, 32), exactHexAdvice],
  ['a digest that ends with a g', (digest) => `${digest.slice(0, -1)}g`, exactHexAdvice],
  ['a second, wrong signature header', (digest, event) => [digest, foreignDigest(event)], oneHeaderAdvice],
  ['a second, right signature header', (digest, event) => [foreignDigest(event), digest], oneHeaderAdvice],
]

/** Sends a new event with a forged signature. */
const sendForged = (forge: Forge) => async (context: Context) => {
  const event = context.newEvent()
  const signature = forge(sign(event.body, context.secret), event, context)
  return { event, answer: await context.send({ body: event.body, signature }) }
}

const either: Expectation = {
  expected: () => '2xx or 401',
  holds: (answer) => answer.status === 401 || isAccepted(answer),
  advice: () => 'accept hex digits in either case, or answer 401',
}

/** Flips the lowest bit of one byte: a digit or letter becomes another one. */
function flip(body: Buffer, index: number): Buffer {
  const copy = Buffer.from(body)
  copy[index] = (copy[index] ?? 0) ^ 1
  return copy
}

const changes: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  'a digit of the amount': (body) => flip(body, body.indexOf('"amount_usd":') + '"amount_usd":1'.length),
  'a character of the id': (body) => flip(body, body.indexOf('evt_conf') + 'evt_'.length),
  'the first byte': (body) => flip(body, 0),
  'the last byte': (body) => flip(body, body.length - 1),
  'a line break added at the end': (body) => Buffer.concat([body, Buffer.from('\n')]),
  'the last byte cut off': (body) => body.subarray(0, -1),
}

const bodies = ['this is no JSON', '[]', 'null', '{}', '{"type": "wallet.large_trade"}', '']

const answered: Expectation = {
  expected: (timeoutMs) =>
    `an answer within ${timeoutMs} ms, preferably 200: any other answer causes five useless retries`,
  holds: ({ status, ms }, timeoutMs) => status !== null && ms <= timeoutMs,
  advice: () => 'catch errors of the parser, keep the body for inspection, and answer 200',
}

const notAccepted: Expectation = {
  expected: () => 'an answer that is not 2xx',
  holds: (answer) => answer.status !== null && !isAccepted(answer),
  advice: () => 'accept POST only, and answer anything else 405',
}

function padded(event: TestEvent, bytes: number): TestEvent {
  const note = 'x'.repeat(bytes - event.body.length - ',"note":""'.length)
  return rewrite(event, (json) => plain(inData(json, { note })))
}

const cutOff: Expectation = {
  // A receiver that stops reading may close the connection before its answer arrives.
  expected: (timeoutMs) => `413 or 401 within ${timeoutMs} ms, or a closed connection`,
  holds: (answer, timeoutMs) => !isAccepted(answer) && answer.ms < timeoutMs,
  advice: () => 'check Content-Length first, and reject bodies above a limit of at least 1 MiB',
}

const keepBoth = 'keep both secrets during a rotation, and accept signatures of either'
const uniqueKey = 'let a unique key of the store decide which delivery is first, instead of a look-up before the insert'
const answerLosers: Advice = ({ status }) =>
  status === 409 || (status !== null && status >= 500)
    ? 'answer 200 to a delivery that loses the race: catch the error of the unique key. The log of the receiver shows what failed'
    : undefined
const knownId: Advice = ({ status }, index) =>
  index > 0 && status !== null && status >= 400 && status < 500
    ? 'answer 200 to a known id: the service retries after any other answer'
    : undefined

const createEvents = (length: number, create: () => TestEvent) => Array.from({ length }, create)

/** Time limit for slow connections before the last bytes are sent. */
const readyLimitMs = 1_000

/** Deliveries as simultaneous as possible: each holds back its last byte until all others are ready. */
async function deliverTogether({ newEvent, deliver, wait }: Context, count: number): Promise<readonly Delivery[]> {
  const event = newEvent()
  const ready = Promise.withResolvers<void>()
  const start = Promise.race([ready.promise, wait(readyLimitMs)])
  let remaining = count
  const pace = async (write: WriteBytes) => {
    await write(event.body.subarray(0, -1))
    if (--remaining === 0) ready.resolve()
    await start
    await write(event.body.subarray(-1))
  }
  return Promise.all(Array.from({ length: count }, () => deliver(event, { pace })))
}

const slowMs = 3_000
const pieceCount = 6
const otherCount = 20

const acceptedAtEnd: Expectation = {
  expected: (timeoutMs) => `2xx, or 408, within ${timeoutMs} ms of its end`,
  holds: ({ status }) => status !== null && (status < 300 || status === 408),
  advice: () => 'read the whole body, up to Content-Length, before processing it',
}

/** Delivers other events while the body of one arrives in pieces. */
async function deliverSlowly({ newEvent, deliver, wait, timeoutMs }: Context): Promise<readonly Delivery[]> {
  const event = newEvent()
  const size = Math.ceil(event.body.length / pieceCount)
  const pace = async (write: WriteBytes) => {
    for (let piece = 0; piece < pieceCount; piece++) {
      if (piece > 0) await wait(slowMs / (pieceCount - 1))
      await write(event.body.subarray(piece * size, (piece + 1) * size))
    }
  }
  const deliverOthers = async () => {
    const deliveries: Delivery[] = []
    for (const other of createEvents(otherCount, newEvent)) {
      await wait(slowMs / 2 / otherCount)
      deliveries.push(await deliver(other))
    }
    return deliveries
  }
  const late = deliver(event, { pace, limitMs: slowMs + timeoutMs, part: 'slow' })
  return (await Promise.all([late, deliverOthers()])).flat()
}

/** Number and pause (ms) of attempts while a restarted receiver answers 503. */
const maxAttempts = 40
const pauseMs = 250

const answersAgain: Expectation = {
  expected: () => 'an answer of the receiver afterwards',
  holds: isFromReceiver,
  advice: () => 'let the command exit with 0 once the receiver runs, in the background, at the same --url',
}

/** Restarts the receiver, after events that are done and events that were only just acknowledged. */
async function deliverAroundRestart(context: Context): Promise<readonly Delivery[]> {
  const { newEvent, deliver, deliverInTurn, effects, restart, wait } = context
  const doneEvents = createEvents(3, newEvent)
  await deliverInTurn(doneEvents)
  // Only finished work can be repeated wrongly.
  await effects?.judge({ sent: '', rule: 'done', ids: doneEvents.map(({ id }) => id), fix: '' })
  const fresh = await deliverInTurn(createEvents(20, newEvent), { part: 'fresh' })
  const answer = await restart()
  const restarted = { answer, part: 'restart' }
  if (!isFromReceiver(answer)) return [restarted]
  const repeated: Delivery[] = []
  for (const event of doneEvents) {
    let delivery = await deliver(event)
    for (let n = 1; n < maxAttempts && delivery.answer.status === 503; n++) {
      await wait(pauseMs)
      delivery = await deliver(event)
    }
    repeated.push(delivery)
  }
  return [restarted, ...repeated, ...fresh]
}

const table: Readonly<Record<string, Case | readonly Case[]>> = {
  acceptance: eventTypes.map((type) =>
    acknowledged(`a signed ${type}`, ({ sample, deliver }) => deliver(sample(type))),
  ),
  'raw-bytes': rawBytesCases,
  unknown: Object.entries(upstreamChanges).map(([description, change]) =>
    acknowledged(`an event with ${description}`, ({ newEvent, deliver }) =>
      deliver(rewrite(newEvent(), (event) => plain(change(event)))),
    ),
  ),
  forgery: [
    ...forgeries.map(([description, forge, fix]) =>
      single(`an event with ${description}`, sendForged(forge), {
        rule: `an event with ${description} is rejected`,
        expected: rejected,
        fix: (wrong) => (isAnswered(wrong) ? fix : undefined),
      }),
    ),
    single(
      'an event with the digest in upper case',
      sendForged((digest) => digest.toUpperCase()),
      {
        rule: 'an event with the digest in upper case is accepted or rejected',
        expected: either,
      },
    ),
    {
      sent: `${forgeries.length} forgeries and a signed event`,
      deliver: async (context) => [await deliverNew(context)],
      checks: [
        { rule: 'a signed event is acknowledged after the forgeries', expected: accepted },
        { rule: 'no rejected event is done', expected: 'once', fix: 'do nothing before the signature is checked' },
      ],
    },
  ],
  tampering: [
    {
      sent: `signed events, each changed after signing: ${Object.keys(changes).join(', ')}`,
      async deliver({ newEvent, send, secret }) {
        const deliveries: Delivery[] = []
        for (const change of Object.values(changes)) {
          const event = newEvent()
          const body = change(event.body)
          const [id = event.id] = /evt_[^"]*/.exec(body.toString('latin1')) ?? []
          deliveries.push({ event: { id, body }, answer: await send({ body, signature: sign(event.body, secret) }) })
        }
        return deliveries
      },
      checks: [{ rule: 'a body that was changed after signing is rejected', expected: rejected }],
    },
    single('events that were changed after signing, then a signed event', deliverNew, {
      rule: 'no event that was changed after signing is done',
      expected: 'once',
      fix: 'compute the digest over all received bytes, and do nothing before comparing it',
    }),
  ],
  unusable: [
    {
      sent: `signed bodies that are no events: ${bodies.map((body) => JSON.stringify(body)).join(', ')}`,
      deliver: ({ newEvent, deliverInTurn }) =>
        deliverInTurn(bodies.map((body) => ({ id: newEvent().id, body: Buffer.from(body) }))),
      checks: [{ rule: 'authentic bodies that are no events are answered in time', expected: answered }],
    },
    acknowledged('an event after bodies that are no events'),
  ],
  methods: single('a GET without a signature', async ({ send }) => ({ answer: await send({ method: 'GET' }) }), {
    rule: 'a GET is not acknowledged',
    expected: notAccepted,
  }),
  sizes: [
    acknowledged(
      'an event of 256 KiB',
      ({ newEvent, deliver }) => deliver(padded(newEvent(), 256 * 1024)),
      'accept bodies of up to 1 MiB',
    ),
    single(
      'a body of 8 MiB signed with another secret',
      ({ newEvent, deliver, secret }) => deliver(padded(newEvent(), 8 * 1024 * 1024), { secret: `not ${secret}` }),
      { rule: 'a body of 8 MiB that is not authentic is not acknowledged', expected: cutOff },
    ),
    acknowledged('an event after a body of 8 MiB'),
  ],
  rotation: [
    { ...acknowledged('an event signed with --secret', deliverNew, keepBoth), needs: 'nextSecret' },
    {
      ...acknowledged(
        'an event signed with --next-secret',
        ({ newEvent, deliver, nextSecret }) => deliver(newEvent(), { secret: nextSecret }),
        keepBoth,
      ),
      needs: 'nextSecret',
    },
  ],
  repeated: {
    sent: 'one event 4 times, one after the other',
    deliver: ({ newEvent, deliverInTurn }) => deliverInTurn(Array<TestEvent>(4).fill(newEvent())),
    checks: [
      { rule: 'every delivery of one event is acknowledged', expected: accepted, fix: knownId },
      { rule: 'an event that was delivered several times is done once', expected: 'once', fix: uniqueKey },
    ],
  },
  'at-once': {
    sent: '3 events, each 20 times with the last bytes at the same moment',
    async deliver(context) {
      const rounds = []
      for (let round = 0; round < 3; round++) rounds.push(await deliverTogether(context, 20))
      return rounds.flat()
    },
    checks: [
      { rule: '20 deliveries of one event at once are all acknowledged', expected: accepted, fix: answerLosers },
      { rule: 'an event delivered 20 times concurrently is handled once', expected: 'once', fix: uniqueKey },
    ],
  },
  // Retries arrive late: the last one comes 10 h 36 min after the first delivery.
  'out-of-order': {
    sent: '4 events of one wallet, created now, 10 h 36 min ago, 1 min ago and 5 h ago',
    deliver({ newEvent, newWallet, deliverInTurn }) {
      const wallet = newWallet()
      return deliverInTurn([0, 636, 1, 300].map((minutes) => newEvent({ wallet, ageMs: minutes * 60_000 })))
    },
    checks: [
      { rule: 'events that are older than an earlier one are acknowledged', expected: accepted },
      {
        rule: 'events that are older than an earlier one are done once',
        expected: 'once',
        fix: 'accept events older than the newest one: they are late, not duplicates',
      },
    ],
  },
  slow: {
    sent: `${otherCount} events while the body of another one takes ${slowMs} ms`,
    deliver: deliverSlowly,
    checks: [
      {
        rule: 'events are acknowledged in time while the body of another one is still coming',
        expected: accepted,
        fix: ({ status }) =>
          status === null || status <= 299
            ? 'never let one connection block another: use a thread for each, or non-blocking reads'
            : undefined,
      },
      { rule: 'a body that takes 3 s is answered in the end', expected: acceptedAtEnd, part: 'slow' },
    ],
  },
  restart: {
    needs: 'restart',
    sent: '3 events, 20 others, a restart at once, and the first 3 again',
    deliver: deliverAroundRestart,
    checks: [
      { rule: 'the receiver answers again after a restart', expected: answersAgain, part: 'restart' },
      { rule: 'an event from before a restart is acknowledged when it comes again', expected: accepted },
      {
        rule: 'an event that was done before a restart is not done again',
        expected: 'once',
        fix: 'keep event ids in a store that outlives the process',
      },
      {
        rule: 'events that were acknowledged right before a restart are done',
        expected: 'done',
        part: 'fresh',
        fix: 'write an event to the disk before answering 2xx; mark it as done after processing it',
      },
    ],
  },
  burst: {
    sent: `one event, many others (--many) over ${connections} connections, and the first one again`,
    async deliver({ newEvent, deliver, deliverMany }) {
      const event = newEvent()
      const first = await deliver(event, { part: 'first' })
      return [first, ...(await deliverMany()), await deliver(event, { part: 'first' })]
    },
    checks: [
      { rule: 'each event of a burst is acknowledged in time', expected: accepted },
      {
        rule: 'each acknowledged event of a burst is done',
        expected: 'done',
        fix: 'store an event before its delivery is answered 2xx',
      },
      { rule: 'an event that comes again after many others is acknowledged', expected: accepted, part: 'first' },
      {
        rule: 'an event that comes again after many others is done once',
        expected: 'once',
        part: 'first',
        fix: 'keep event ids for 30 days, in a store rather than in a list of the latest ones',
      },
    ],
  },
}

/** All scenarios in order. Scenarios that cause much work come last. */
export const scenarios = Object.fromEntries(
  Object.entries(table).map(([name, cases]): [string, readonly Case[]] => [name, [cases].flat()]),
)
