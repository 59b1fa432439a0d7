import { eventTypes } from '../../../schema/index.ts'
import { sign } from '../../signature/sign.ts'
import type { Context, Delivery, TestEvent } from './context.ts'
import type { EffectsRule } from './effects.ts'
import { accepted, isAccepted, isAnswered, refused, type Advice, type Expectation } from './judge.ts'

/** An option that a check needs. */
export type Need = 'effects' | 'restart' | 'nextSecret'

export interface Check {
  /** The rule, as a sentence. */
  readonly rule: string
  /** The expected answer to all deliveries; or the rule for effects of acknowledged events. */
  readonly expected: Expectation | EffectsRule
  readonly todo?: Advice
  /** Deliveries to judge, by their `part`; default: those without one. */
  readonly part?: string
  /** Default: that of the case. */
  readonly sent?: string
}

export interface Case {
  readonly needs?: Need
  /** The requests, described for people. */
  readonly sent: string
  deliver(context: Context): Promise<readonly Delivery[]>
  readonly checks: readonly Check[]
}

/** A case whose single check is about the answer to one request. */
function single(sent: string, request: (context: Context) => Promise<Delivery>, check: Check, needs?: Need): Case {
  return { sent, deliver: async (context) => [await request(context)], checks: [check], ...(needs && { needs }) }
}

const deliverNew = ({ newEvent, deliver }: Context) => deliver(newEvent())

type Json = Record<string, unknown>

/** The same event in other bytes. */
function rewrite({ id, body }: TestEvent, write: (event: Json) => string): TestEvent {
  return { id, body: Buffer.from(write(JSON.parse(body.toString()) as Json)) }
}

const inData = (event: Json, change: Json) => ({ ...event, data: { ...(event['data'] as Json), ...change } })

/** One signed event of each documented type. */
export const acceptance = eventTypes.map((type) =>
  single(`a signed ${type}`, ({ sample, deliver }) => deliver(sample(type)), {
    rule: `${type} is acknowledged in time`,
    expected: accepted,
  }),
)

const amount = 987_654
const plain = (event: Json) => JSON.stringify(event)

/** Unusual ways to write JSON: description, writer, and token symbol. */
const forms: readonly (readonly [string, (event: Json) => string, string?])[] = [
  ['a space after each comma and colon', spaced],
  ['line breaks and indentation', (event) => JSON.stringify(event, null, 2)],
  ['a line break at the end', (event) => `${plain(event)}\n`],
  ['a whole number as 987654.0', (event) => plain(event).replace(`:${amount}`, `:${amount}.0`)],
  ['a number as 9.87654e5', (event) => plain(event).replace(`:${amount}`, ':9.87654e5')],
  ['letters as \\u00c9, \\u0065 and \\/', escaped, 'PEPÉ🐸'],
  ['unescaped letters beyond ASCII', plain, 'PEPÉ🐸'],
  ['members in another order', (event) => plain(Object.fromEntries(Object.entries(event).toReversed()))],
]

const overRawBytes =
  'compute the digest over the received bytes, before any parser: JSON that was parsed and written again has other bytes'

/** Signed events in JSON that the receiver itself would write differently. */
export const rawBytes = forms.map(([how, write, symbol = 'PEPE']) => {
  const rule = `JSON with ${how} is accepted`
  const request = ({ newEvent, deliver }: Context) => {
    const event = newEvent({ data: { amount_usd: amount, token_symbol: symbol } })
    return deliver(rewrite(event, (json) => write(inData(json, { note: 'a/b' }))))
  }
  const todo: Advice = ({ status }) => (status === 401 ? overRawBytes : undefined)
  return single(`an event whose JSON has ${how}, signed over these bytes`, request, { rule, expected: accepted, todo })
})

function spaced(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`)
  return `{${members.join(', ')}}`
}

function escaped(event: Json): string {
  return plain(event)
    .replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace('"ethereum"', '"\\u0065thereum"')
    .replace('a/b', 'a\\/b')
}

/** Changes that the service may make at any time. */
const novelties: Readonly<Record<string, (event: Json) => Json>> = {
  'the unknown type token.volume_spike': (event) => ({ ...event, type: 'token.volume_spike', data: { change_pct: 3 } }),
  'the unknown type bridge.transfer_completed': (event) => ({ ...event, type: 'bridge.transfer_completed', data: {} }),
  'an unknown member beside id and type': (event) => ({ ...event, api_version: '1.4' }),
  'unknown fields in data': (event) => inData(event, { gas_usd: 1.25, route: { hops: ['a', 'b'] }, memo: null }),
  'the unknown network zksync': (event) => inData(event, { network: 'zksync' }),
  'the unknown trade_type limit_fill': (event) => inData(event, { trade_type: 'limit_fill' }),
}

export const unknown = Object.entries(novelties).map(([what, change]) =>
  single(
    `a signed event with ${what}`,
    ({ newEvent, deliver }) => deliver(rewrite(newEvent(), (event) => plain(change(event)))),
    { rule: `an event with ${what} is acknowledged`, expected: accepted },
  ),
)

type Forge = (digest: string, event: TestEvent, context: Context) => string | readonly string[] | undefined

const foreign = ({ body }: TestEvent) => sign(body, 'an unknown secret')
const exact = 'accept a header of exactly 64 hex digits, and answer 401 to anything else before digests are compared'
const oneHeader = 'reject a repeated signature header: two programs may read different values'
const emptySecret =
  'if only this is accepted, one of the secrets of the receiver is empty, such as the text after the last comma of a list'

/** Wrong signatures: name, signature made from the right digest, advice. */
const forgeries: readonly (readonly [string, Forge, string?])[] = [
  ['no signature', () => undefined],
  ['an empty signature', () => ''],
  ['a signature of 64 zeros', () => '0'.repeat(64)],
  ['a digest made with another secret', (_, event) => foreign(event)],
  ['a digest made with an empty secret', (_, { body }) => sign(body, ''), emptySecret],
  ['the digest of another event', (_, event, { newEvent, secret }) => sign(newEvent().body, secret)],
  ['the digest of the same JSON in other bytes', (_, event, { secret }) => sign(indented(event), secret), overRawBytes],
  ['sha256= before the digest', (digest) => `sha256=${digest}`, exact],
  ['the digest in base64', (digest) => Buffer.from(digest, 'hex').toString('base64'), exact],
  ['the digest without its last digit', (digest) => digest.slice(0, -1), exact],
  ['the digest and one more digit', (digest) => `${digest}0`, exact],
  ['half the digest', (digest) => digest.slice(0, 32), exact],
  ['a digest that ends with a g', (digest) => `${digest.slice(0, -1)}g`, exact],
  ['a second, wrong signature header', (digest, event) => [digest, foreign(event)], oneHeader],
  ['a second, right signature header', (digest, event) => [foreign(event), digest], oneHeader],
]

const indented = (event: TestEvent) => rewrite(event, (json) => JSON.stringify(json, null, 2)).body

const either: Expectation = {
  expected: () => '2xx or 401',
  holds: (answer) => answer.status === 401 || isAccepted(answer),
  advice: () => 'accept hex digits in either case, or answer 401',
}

function forged(what: string, forge: Forge, check: Check): Case {
  const request = async (context: Context) => {
    const event = context.newEvent()
    const signature = forge(sign(event.body, context.secret), event, context)
    return { event, answer: await context.send({ body: event.body, signature }) }
  }
  return single(`an event with ${what}`, request, check)
}

export const forgery: readonly Case[] = [
  ...forgeries.map(([what, forge, todo]) =>
    forged(what, forge, {
      rule: `an event with ${what} is refused`,
      expected: refused,
      todo: (wrong) => (isAnswered(wrong) ? todo : undefined),
    }),
  ),
  forged('the digest in upper case', (digest) => digest.toUpperCase(), {
    rule: 'an event with the digest in upper case is accepted or refused',
    expected: either,
  }),
  {
    sent: `${forgeries.length} forgeries and a signed event`,
    deliver: async (context) => [await deliverNew(context)],
    checks: [
      { rule: 'a signed event is acknowledged after the forgeries', expected: accepted },
      {
        rule: 'no refused event is done',
        expected: 'once',
        todo: 'do nothing before the signature is checked',
      },
    ],
  },
]

/** Turns the lowest bit of one byte: a digit or letter becomes another one. */
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
const tampered = `signed events, each changed after signing: ${Object.keys(changes).join(', ')}`

export const tampering: readonly Case[] = [
  {
    sent: tampered,
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
    checks: [{ rule: 'a body that was changed after signing is refused', expected: refused }],
  },
  single(`${tampered}; then a signed event`, deliverNew, {
    rule: 'no event that was changed after signing is done',
    expected: 'once',
    todo: 'compute the digest over all received bytes, and do nothing before comparing it',
  }),
]

const bodies = ['this is no JSON', '[]', 'null', '{}', '{"type": "wallet.large_trade"}', '']

const answered: Expectation = {
  expected: (timeoutMs) =>
    `an answer within ${timeoutMs} ms, preferably 200: any other answer causes five useless retries`,
  holds: ({ status, ms }, timeoutMs) => status !== null && ms <= timeoutMs,
  advice: () => 'catch errors of the parser, keep the body for inspection, and answer 200',
}

/** Signed bodies that are not events. */
export const unusable: readonly Case[] = [
  {
    sent: `signed bodies that are no events: ${bodies.map((body) => JSON.stringify(body)).join(', ')}`,
    deliver: ({ newEvent, deliverInTurn }) =>
      deliverInTurn(bodies.map((body) => ({ id: newEvent().id, body: Buffer.from(body) }))),
    checks: [{ rule: 'authentic bodies that are no events are answered in time', expected: answered }],
  },
  single('a signed event after bodies that are no events', deliverNew, {
    rule: 'an event is acknowledged after bodies that are no events',
    expected: accepted,
  }),
]

const notAccepted: Expectation = {
  expected: () => 'an answer that is not 2xx',
  holds: (answer) => answer.status !== null && !isAccepted(answer),
  advice: () => 'accept POST only, and answer anything else 405',
}

export const methods: readonly Case[] = [
  single('a GET without a signature', async ({ send }) => ({ answer: await send({ method: 'GET' }) }), {
    rule: 'a GET is not acknowledged',
    expected: notAccepted,
  }),
]

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

export const sizes: readonly Case[] = [
  single('a signed event of 256 KiB', ({ newEvent, deliver }) => deliver(padded(newEvent(), 256 * 1024)), {
    rule: 'an event of 256 KiB is acknowledged',
    expected: accepted,
    todo: 'accept bodies of up to 1 MiB',
  }),
  single(
    'a body of 8 MiB signed with another secret',
    ({ newEvent, deliver, secret }) => deliver(padded(newEvent(), 8 * 1024 * 1024), { secret: `not ${secret}` }),
    { rule: 'a body of 8 MiB that is not authentic is not acknowledged', expected: cutOff },
  ),
  single('a signed event after a body of 8 MiB', deliverNew, {
    rule: 'an event is acknowledged after a body of 8 MiB',
    expected: accepted,
  }),
]

const todo = 'keep both secrets during a rotation, and accept signatures of either'
const present = { rule: 'the present secret is accepted during a rotation', expected: accepted, todo }
const next = { rule: 'the next secret is accepted', expected: accepted, todo }

/** Two secrets during a rotation: retries are signed with either. */
export const rotation: readonly Case[] = [
  single('an event signed with --secret', deliverNew, present, 'nextSecret'),
  single(
    'an event signed with --next-secret',
    ({ newEvent, deliver, nextSecret }) => deliver(newEvent(), { secret: nextSecret }),
    next,
    'nextSecret',
  ),
]
