import { z } from 'zod'
import { sign } from '../../signature/sign.ts'
import type { Wire } from '../deliveries/post.ts'
import type { RandomStream } from '../random.ts'
import { type SerializerProfile, serializerProfiles } from '../serialize.ts'
import { numberFrom, wholeNumberFrom } from '../values.ts'
import { dayMs } from '../../base/clock.ts'

// All kinds of faults: their parameters, which the API and the dashboard show, and their effects.

const yearMs = 366 * dayMs
const mebibyte = 1_048_576
const maxAnswerDelayMs = 60_000

export type Json = Readonly<Record<string, unknown>>

/** Replaces the response of a request. */
export type InsteadOfAnswer =
  /** The request is not processed. */
  | { readonly kind: 'error'; readonly status: 429 | 500 | 503; readonly retryAfterS?: number }
  /** The request is processed and the response is lost. */
  | { readonly kind: 'empty' | 'malformed' | 'malformed-chunk' | 'reset' }

/** Effect of a fault: on a delivery, or on a REST response. */
export interface Effect {
  /** Postpones a first attempt that is due at `at`, in world time. */
  readonly hold?: (at: number, stream: RandomStream) => number
  /** Changes the event before it is signed. */
  readonly event?: (event: Json) => Json
  /** Serializes the event again, in this profile or with at least this size. */
  readonly serialize?: { readonly profile?: SerializerProfile; readonly minBytes?: number }
  /** Changes the values of the signature header, one header each. */
  readonly sign?: (values: readonly string[], body: Buffer) => readonly string[]
  /** Changes the bytes after signing. */
  readonly bytes?: (body: Buffer, draw: () => RandomStream) => Buffer
  readonly wire?: Wire
  /** Number of extra copies sent at the same time. */
  readonly copiesAtOnce?: number
  /** Number of extra copies sent one by one after the acknowledgement. */
  readonly copiesAfterwards?: number
  /** True if a 2xx counts as a lost acknowledgement. */
  readonly dropsAck?: boolean

  /** Delay of the response in real time, in milliseconds. */
  readonly delayMs?: (stream: RandomStream) => number
  readonly instead?: InsteadOfAnswer
  /** Changes the envelope of a successful response. `cursor`: of the requested page; null if none. */
  readonly alter?: (envelope: Json, cursor: string | null) => Json
}

function kind<const K extends string, S extends z.core.$ZodLooseShape>(
  name: K,
  about: string,
  parameters: S,
  effect: (fault: z.output<z.ZodObject<S, z.core.$strict>>) => Effect,
) {
  const schema = z.strictObject({ kind: z.literal(name), ...parameters }).describe(about)
  return { name, schema, effect: effect as (fault: object) => Effect }
}

/** A kind without parameters. */
function plain<const K extends string>(name: K, about: string, effect: Effect) {
  return kind(name, about, {}, () => effect)
}

/** Parameters of a delay in milliseconds: fixed, uniform, or log-normal. */
const delay = (limitMs: number, defaultMs: number) => {
  const ms = wholeNumberFrom(0, limitMs)
  return {
    distribution: z
      .enum(['fixed', 'uniform', 'lognormal'])
      .default('fixed')
      .describe('fixed takes ms, uniform takes minMs and maxMs, lognormal takes medianMs and sigma'),
    ms: ms.default(defaultMs).describe('delay, if fixed'),
    minMs: ms.default(0).describe('minimum, if uniform'),
    maxMs: ms.default(2 * defaultMs).describe('maximum, if uniform'),
    medianMs: ms.default(defaultMs).describe('median, if lognormal'),
    sigma: numberFrom(0, 5).default(1).describe('spread, if lognormal'),
  }
}
type Delay = z.output<z.ZodObject<ReturnType<typeof delay>>>

/** Draws whole milliseconds, at most `limitMs`. */
function drawMs({ distribution, ms, minMs, maxMs, medianMs, sigma }: Delay, limitMs: number, stream: RandomStream) {
  const drawn = {
    fixed: () => ms,
    uniform: () => minMs + stream.uniform() * Math.max(0, maxMs - minMs),
    lognormal: () => medianMs * Math.exp(sigma * stream.normal()),
  }[distribution]()
  return Math.min(limitMs, Math.round(drawn))
}

const copies = { copies: wholeNumberFrom(1, 20).default(1).describe('number of extra copies') }
const shareSent = { share: numberFrom(0, 0.99).default(0.5).describe('share of the body that is sent') }
const pieceBytes = (bytes: number) => wholeNumberFrom(1, mebibyte).default(bytes)
const retryAfter = {
  retryAfterS: wholeNumberFrom(1, 86_400).default(1).describe('value of Retry-After, in seconds'),
}

/** Secret of a forger. */
const wrongSecret = 'whsec_of-a-forger-not-of-the-receiver'
/** Members that a later version of the service might add: readers must ignore them (R125). */
const added = { added_later: { version: 2, labels: ['new', null, 'größer'], share: 0.25 } }

function signature(name: string, about: string, change: NonNullable<Effect['sign']>) {
  return plain(`signature-${name}`, about, { sign: change })
}

/** Faults of deliveries, in the order of their composition. */
const outKinds = [
  kind('delay', 'Waits before the first attempt, in world time.', delay(dayMs, 10_000), (fault) => ({
    hold: (at, stream) => at + drawMs(fault, dayMs, stream),
  })),
  kind(
    'reorder',
    'Waits for a random part of a window before the first attempt, so that later events arrive first.',
    { windowMs: wholeNumberFrom(1, dayMs).default(60_000).describe('the window, in world time') },
    ({ windowMs }) => ({ hold: (at, stream) => at + Math.floor(stream.uniform() * windowMs) }),
  ),
  kind(
    'burst',
    'Holds first attempts until the next whole multiple of an interval, so that they arrive in bursts.',
    { everyMs: wholeNumberFrom(1, dayMs).default(60_000).describe('the interval, on the world clock') },
    ({ everyMs }) => ({ hold: (at) => Math.ceil(at / everyMs) * everyMs }),
  ),
  kind(
    'skew',
    'Shifts created_at, as if the clock of the sender were wrong.',
    {
      ms: wholeNumberFrom(-yearMs, yearMs).default(3_600_000).describe('shift; negative values lie in the past'),
    },
    ({ ms }) => ({
      event(event) {
        const shifted = new Date(Date.parse(String(event['created_at'])) + ms)
        return Number.isNaN(shifted.getTime()) ? event : { ...event, created_at: shifted.toISOString() }
      },
    }),
  ),
  kind(
    'unknown-type',
    'Replaces the type of the event by an unknown one.',
    {
      type: z
        .string()
        .regex(/^[\w.-]{1,100}$/, 'expected 1 to 100 letters, digits, dots, hyphens or underscores')
        .default('token.unheard_of')
        .describe('the type'),
    },
    ({ type }) => ({ event: (event) => ({ ...event, type }) }),
  ),
  plain('case-flip', 'Swaps the case of letters in EVM addresses; hashes and Solana addresses stay unchanged.', {
    event: (event) => ({ ...event, data: flipAddresses(event['data']) }),
  }),
  plain('extra-fields', 'Adds unknown members at the top level and in data.', {
    event: (event) => ({ ...event, data: addMembers(event['data']), ...added }),
  }),
  kind(
    'reserialise',
    'Serializes the same event in another way.',
    { profile: z.enum(serializerProfiles).default('canonical').describe('the serializer profile') },
    ({ profile }) => ({ serialize: { profile } }),
  ),
  kind(
    'huge',
    'Adds a long member to data.',
    {
      bytes: wholeNumberFrom(1, 20 * mebibyte)
        .default(2 * mebibyte)
        .describe('size of the whole body; larger bodies stay unchanged'),
    },
    ({ bytes }) => ({ serialize: { minBytes: bytes } }),
  ),
  signature('wrong-secret', 'Signs with another secret.', (_values, body) => [sign(body, wrongSecret)]),
  signature('bad', 'Changes one digit of the signature.', (values) =>
    values.map((value) => `${value[0] === '0' ? '1' : '0'}${value.slice(1)}`),
  ),
  signature('upper-case', 'Writes the signature in upper case.', (values) =>
    values.map((value) => value.toUpperCase()),
  ),
  signature('prefixed', 'Prefixes the signature with sha256=.', (values) => values.map((value) => `sha256=${value}`)),
  signature('repeated', 'Sends the signature header twice.', (values) => [...values, ...values]),
  signature('missing', 'Omits the signature.', () => []),
  plain('tamper', 'Changes one byte of the body after signing.', { bytes: changeOneByte }),
  kind('truncate', 'Cuts the body after signing; the framing is correct.', shareSent, ({ share }) => ({
    bytes: (body) => body.subarray(0, Math.floor(body.length * share)),
  })),
  kind(
    'chunked',
    'Sends the body in chunks, without Content-Length.',
    { chunkBytes: pieceBytes(16).describe('bytes per chunk') },
    ({ chunkBytes }) => ({ wire: { mode: 'chunked', chunkBytes } }),
  ),
  kind(
    'slow',
    'Sends the body slowly, piece by piece.',
    {
      bytes: pieceBytes(64).describe('bytes per piece'),
      everyMs: wholeNumberFrom(1, 60_000).default(200).describe('interval between pieces, in real time'),
    },
    ({ bytes, everyMs }) => ({ wire: { mode: 'slow', bytes, everyMs } }),
  ),
  kind('cut', 'Closes the connection in the middle of the body.', shareSent, ({ share }) => ({
    wire: { mode: 'cut', share },
  })),
  kind('reset', 'Resets the connection in the middle of the body.', shareSent, ({ share }) => ({
    wire: { mode: 'reset', share },
  })),
  kind('duplicate-at-once', 'Sends the same delivery several times at once.', copies, (fault) => ({
    copiesAtOnce: fault.copies,
  })),
  kind('duplicate', 'Sends the same delivery again after it is acknowledged.', copies, (fault) => ({
    copiesAfterwards: fault.copies,
  })),
  plain('drop-ack', 'Ignores the acknowledgement, as if it were lost.', { dropsAck: true }),
] as const

/** Flips EVM addresses anywhere in text. Longer runs of digits, such as hashes, don't match. */
function flipAddresses(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.replace(/(?<=\b0x)[\da-f]{40}\b/gi, (digits) =>
      digits.replace(/[a-f]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase())),
    )
  }
  if (Array.isArray(value)) return value.map(flipAddresses)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, flipAddresses(member)]))
}

function changeOneByte(body: Buffer, draw: () => RandomStream): Buffer {
  const changed = Buffer.from(body)
  const at = draw().integer(0, body.length - 1)
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
  return changed
}

/** Adds members to an object, or to each object of a list. */
function addMembers(data: unknown): unknown {
  return Array.isArray(data) ? data.map(addMembers) : { ...(data as Json), ...added }
}

const rejectWith =
  (status: 429 | 503) =>
  ({ retryAfterS }: { readonly retryAfterS: number }): Effect => ({ instead: { kind: 'error', status, retryAfterS } })

/** Changes the meta of a page that has a next one. */
const nextPage =
  (change: (meta: Json, cursor: string | null) => Json): NonNullable<Effect['alter']> =>
  (envelope, cursor) => {
    const meta = envelope['meta'] as Json
    return typeof meta['next_cursor'] === 'string' ? { ...envelope, meta: change(meta, cursor) } : envelope
  }

/** Faults of REST responses, in the order of their composition. */
const inKinds = [
  kind('latency', 'Delays the response, in real time.', delay(maxAnswerDelayMs, 1_000), (fault) => ({
    delayMs: (stream) => drawMs(fault, maxAnswerDelayMs, stream),
  })),
  kind('too-many-requests', 'Rejects with 429 within the quota; nothing is done.', retryAfter, rejectWith(429)),
  plain('error-500', 'Rejects with 500; nothing is done.', { instead: { kind: 'error', status: 500 } }),
  kind('error-503', 'Rejects with 503; nothing is done.', retryAfter, rejectWith(503)),
  plain('empty', 'Processes the request; responds 200 without a body.', { instead: { kind: 'empty' } }),
  plain('malformed', 'Processes the request; the JSON of the response breaks off.', { instead: { kind: 'malformed' } }),
  plain('malformed-chunk', 'Processes the request; the framing of the response breaks in the middle.', {
    instead: { kind: 'malformed-chunk' },
  }),
  plain('reset', 'Processes the request; resets the connection instead of responding.', { instead: { kind: 'reset' } }),
  plain('cursor-loop', 'Sets next_cursor to the same page again, from the second page on.', {
    alter: nextPage((meta, cursor) => (cursor === null ? meta : { ...meta, next_cursor: cursor })),
  }),
  plain('cursor-missing', 'Omits next_cursor, though more items exist.', {
    alter: nextPage(({ next_cursor: _cursor, ...meta }) => meta),
  }),
  plain('extra-members', 'Adds unknown members to data and meta.', {
    alter: (envelope) => ({ ...envelope, data: addMembers(envelope['data']), meta: addMembers(envelope['meta']) }),
  }),
] as const

type SchemasOf<T extends readonly { readonly schema: z.ZodType }[]> = {
  -readonly [I in keyof T]: T[I]['schema']
}

const kindsOf = { out: outKinds, in: inKinds } as const
type Direction = keyof typeof kindsOf

export const outFault = z.discriminatedUnion(
  'kind',
  outKinds.map(({ schema }) => schema) as unknown as SchemasOf<typeof outKinds>,
  { error: ({ input }) => wrongKind(input, 'out') },
)
export const inFault = z.discriminatedUnion(
  'kind',
  inKinds.map(({ schema }) => schema) as unknown as SchemasOf<typeof inKinds>,
  { error: ({ input }) => wrongKind(input, 'in') },
)

function wrongKind(input: unknown, direction: Direction): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return 'expected an object such as {"kind": "delay"}'
  }
  return `expected a kind for the direction ${direction}: ${kindsOf[direction].map(({ name }) => name).join(', ')}`
}

/** Effect of a fault. `order`: its position in the order of composition. */
export function effectOf(direction: Direction, fault: { readonly kind: string }) {
  const kinds = kindsOf[direction]
  const order = kinds.findIndex(({ name }) => name === fault.kind)
  return { order, effect: kinds[order]?.effect(fault) ?? {} }
}

/** A kind of fault, for display and for forms. */
export type FaultKind = ReturnType<typeof toFaultKind>

export function listFaultKinds() {
  return (['out', 'in'] as const).flatMap((direction) =>
    kindsOf[direction].map(({ schema }) => toFaultKind(direction, schema)),
  )
}

function toFaultKind(direction: Direction, schema: z.ZodType) {
  const { description = '', properties = {} } = z.toJSONSchema(schema, { io: 'input' })
  const { kind, ...parameters } = properties as Readonly<Record<string, z.core.JSONSchema.BaseSchema>>
  return {
    kind: String(kind?.const),
    direction,
    about: description,
    parameters: Object.entries(parameters).map(([name, parameter]) => ({
      name,
      default: parameter.default,
      about: parameter.description ?? '',
      // Allowed values, if there is a fixed list.
      ...(parameter.enum !== undefined && { choices: parameter.enum }),
    })),
  }
}
