import { z } from 'zod'
import { numberFrom, wholeNumberFrom } from '../values.ts'
import { serializerProfiles } from '../serialize.ts'

// Every kind of fault with its parameters. What people read of them is made from these descriptions.

const dayMs = 86_400_000
const yearMs = 366 * dayMs
const mebibyte = 1_048_576

function kind<const K extends string, S extends z.core.$ZodLooseShape>(name: K, about: string, parameters: S) {
  return z.strictObject({ kind: z.literal(name), ...parameters }).describe(about)
}

/** Milliseconds that are always the same, or drawn: evenly between two bounds, or with a long tail around a median. */
const lateness = (limitMs: number, defaultMs: number) => {
  const ms = wholeNumberFrom(0, limitMs)
  return {
    distribution: z
      .enum(['fixed', 'uniform', 'lognormal'])
      .default('fixed')
      .describe('fixed takes ms, uniform takes minMs and maxMs, lognormal takes medianMs and sigma'),
    ms: ms.default(defaultMs).describe('how long, if fixed'),
    minMs: ms.default(0).describe('at least, if uniform'),
    maxMs: ms.default(2 * defaultMs).describe('at most, if uniform'),
    medianMs: ms.default(defaultMs).describe('half are shorter, if lognormal'),
    sigma: numberFrom(0, 5).default(1).describe('how far they spread, if lognormal'),
  }
}

const copies = wholeNumberFrom(1, 20).default(1).describe('how many more of the same')
const shareSent = numberFrom(0, 0.99).default(0.5).describe('how much of the body is sent')
const pieceBytes = (bytes: number) => wholeNumberFrom(1, mebibyte).default(bytes)
const retryAfterS = (seconds: number) =>
  wholeNumberFrom(1, 86_400).default(seconds).describe('what Retry-After says, in seconds')

/** What can befall a delivery. */
export const outFault = z.discriminatedUnion(
  'kind',
  [
    kind('delay', 'Waits before the first attempt, in world time.', lateness(dayMs, 10_000)),
    kind('reorder', 'Waits for a random part of a window before the first attempt, so that later events overtake.', {
      windowMs: wholeNumberFrom(1, dayMs).default(60_000).describe('the window, in world time'),
    }),
    kind('burst', 'Holds first attempts until the next whole multiple of an interval, so that they come all at once.', {
      everyMs: wholeNumberFrom(1, dayMs).default(60_000).describe('the interval, on the world clock'),
    }),
    kind('skew', 'The clock of the sender is wrong: created_at is moved.', {
      ms: wholeNumberFrom(-yearMs, yearMs).default(3_600_000).describe('by how much; below 0 it is in the past'),
    }),
    kind('unknown-type', 'The event is of a type that nobody has heard of.', {
      type: z
        .string()
        .regex(/^[\w.-]{1,100}$/, 'expected 1 to 100 letters, digits, dots, hyphens or underscores')
        .default('token.unheard_of')
        .describe('the type'),
    }),
    kind('case-flip', 'Letters of EVM addresses have the other case; hashes and Solana addresses are untouched.', {}),
    kind('extra-fields', 'Members that nobody has heard of, at the top level and in data.', {}),
    kind('reserialise', 'The same event, written in another way.', {
      profile: z.enum(serializerProfiles).default('canonical').describe('how it is written'),
    }),
    kind('huge', 'A long member in data blows up the body.', {
      bytes: wholeNumberFrom(1, 20 * mebibyte)
        .default(2 * mebibyte)
        .describe('the size of the whole body; one that is larger anyway stays as it is'),
    }),
    kind('signature-wrong-secret', 'Signed with a secret that nobody knows.', {}),
    kind('signature-bad', 'One digit of the signature is wrong.', {}),
    kind('signature-upper-case', 'The digits of the signature are upper case.', {}),
    kind('signature-prefixed', 'The signature begins with sha256=.', {}),
    kind('signature-repeated', 'The signature comes in two headers.', {}),
    kind('signature-missing', 'There is no signature.', {}),
    kind('tamper', 'One byte of the body is changed after it was signed.', {}),
    kind('truncate', 'Signed as a whole, the body is cut; its framing is right.', { share: shareSent }),
    kind('chunked', 'The body comes in chunks, without Content-Length.', {
      chunkBytes: pieceBytes(16).describe('how many bytes a chunk has'),
    }),
    kind('slow', 'The body comes piece by piece.', {
      bytes: pieceBytes(64).describe('how many bytes come at a time'),
      everyMs: wholeNumberFrom(1, 60_000).default(200).describe('how long it takes to the next, in real time'),
    }),
    kind('cut', 'The connection is ended in the middle of the body.', { share: shareSent }),
    kind('reset', 'The connection is reset in the middle of the body.', { share: shareSent }),
    kind('duplicate-at-once', 'The same delivery is made several times at the same time.', { copies }),
    kind('duplicate', 'Once it is acknowledged, the same delivery is made again.', { copies }),
    kind('drop-ack', 'An acknowledgement counts as none, as if it had been lost on its way.', {}),
  ],
  { error: ({ input }) => wrongKind(input, 'out') },
)
export type OutFault = z.output<typeof outFault>

/** What can befall an answer of the REST service. */
export const inFault = z.discriminatedUnion(
  'kind',
  [
    kind('latency', 'The answer is late, in real time.', lateness(60_000, 1_000)),
    kind('too-many-requests', 'Refused with 429, whatever the quota; nothing is done.', {
      retryAfterS: retryAfterS(1),
    }),
    kind('error-500', 'Refused with 500; nothing is done.', {}),
    kind('error-503', 'Refused with 503; nothing is done.', { retryAfterS: retryAfterS(1) }),
    kind('empty', 'It is done, and answered with 200 and no body.', {}),
    kind('malformed', 'It is done, and the JSON of the answer breaks off.', {}),
    kind('malformed-chunk', 'It is done, and the framing of the answer is broken in its middle.', {}),
    kind('reset', 'It is done, and the connection is reset in place of an answer.', {}),
    kind('cursor-loop', 'From the second page on, next_cursor leads to the same page again.', {}),
    kind('cursor-missing', 'There is no next_cursor, though more items exist.', {}),
    kind('extra-members', 'Members that nobody has heard of, in data and meta.', {}),
  ],
  { error: ({ input }) => wrongKind(input, 'in') },
)
export type InFault = z.output<typeof inFault>

function wrongKind(input: unknown, direction: 'out' | 'in'): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return 'expected an object such as {"kind": "delay"}'
  }
  const names = kindNames(direction === 'out' ? outFault : inFault)
  return `expected a kind for the direction ${direction}: ${names.join(', ')}`
}

function kindNames(union: typeof outFault | typeof inFault): readonly string[] {
  return union.options.map((option) => option.shape.kind.value)
}

/** A kind of fault, for people and for forms that are made from it. */
export interface FaultKind {
  readonly kind: string
  readonly direction: 'out' | 'in'
  readonly about: string
  readonly parameters: readonly FaultParameter[]
}

export interface FaultParameter {
  readonly name: string
  readonly default: unknown
  readonly about: string
  /** What it may be, where that is a list. */
  readonly choices?: readonly unknown[]
}

/** Every kind of fault, made from the schemas by which rules are read. */
export function listFaultKinds(): readonly FaultKind[] {
  return [
    ...outFault.options.map((option) => toKind('out', option)),
    ...inFault.options.map((option) => toKind('in', option)),
  ]
}

function toKind(direction: 'out' | 'in', schema: z.ZodType): FaultKind {
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
      ...(parameter.enum !== undefined && { choices: parameter.enum }),
    })),
  }
}

// What a rule of faults says: what goes wrong, for whom, and how often.

const scriptProblem = 'expected 1 to 1000 steps, x for one that is struck and . for one that is not, such as x.x..'

const howOften = {
  /** The share that is struck, drawn. Default: all. */
  rate: z.exactOptional(numberFrom(0, 1)),
  /** Those that match, in order; after its end nothing is struck. */
  script: z.exactOptional(z.string(scriptProblem).regex(/^[x.]{1,1000}$/, scriptProblem)),
  /** After its end a script begins again. */
  scriptRepeats: z.exactOptional(z.boolean()),
  /** At most so often. */
  times: z.exactOptional(wholeNumberFrom(1, 1_000_000)),
}

const typeProblem = 'expected an event type, the beginning of one such as wallet.*, or *'

const outRule = z
  .strictObject({
    /** Befalls deliveries. */
    direction: z.literal('out'),
    fault: outFault,
    /** The id or the URL of one. Default: all. */
    endpoint: z.exactOptional(z.string().min(1).max(2_048)),
    types: z.exactOptional(
      z
        .array(z.string(typeProblem).regex(/^(?:\*|[\w.]{1,100}?(?:\.\*)?)$/, typeProblem))
        .min(1)
        .max(50),
    ),
    ...howOften,
  })
  .superRefine(refuseContradiction)

const pathProblem = 'expected a path below /v1, or its beginning with * at its end, such as /v1/tokens*'

const inRule = z
  .strictObject({
    /** Befalls answers of the REST service. */
    direction: z.literal('in'),
    fault: inFault,
    path: z.exactOptional(z.string(pathProblem).regex(/^\/v1[^*?]{0,500}\*?$/, pathProblem)),
    methods: z.exactOptional(
      z
        .array(z.enum(['GET', 'POST', 'PATCH', 'DELETE']))
        .min(1)
        .max(4),
    ),
    ...howOften,
  })
  .superRefine(refuseContradiction)

/** A rule as somebody gives it. Members that are not here are refused: a misspelt one would do something else than meant. */
export const faultRuleSchema = z.discriminatedUnion('direction', [outRule, inRule], {
  error: 'expected out, for deliveries, or in, for answers of the REST service',
})

export type FaultRule = z.output<typeof faultRuleSchema>
/** What is yet without the defaults. */
export type FaultRuleInput = z.input<typeof faultRuleSchema>
export type OutRule = z.output<typeof outRule>
export type InRule = z.output<typeof inRule>

function refuseContradiction(
  rule: { readonly rate?: number; readonly script?: string; readonly scriptRepeats?: boolean },
  context: z.core.$RefinementCtx,
): void {
  if (rule.rate !== undefined && rule.script !== undefined) {
    context.addIssue({ code: 'custom', message: 'expected either a rate or a script', path: ['script'] })
  }
  if (rule.scriptRepeats !== undefined && rule.script === undefined) {
    context.addIssue({ code: 'custom', message: 'expected it beside a script only', path: ['scriptRepeats'] })
  }
}
