import { z } from 'zod'
import { numberFrom, wholeNumberFrom } from '../values.ts'
import { serializerProfiles } from '../serialize.ts'

// All kinds of faults with their parameters. The API and the dashboard show these descriptions.

const dayMs = 86_400_000
const yearMs = 366 * dayMs
const mebibyte = 1_048_576

function kind<const K extends string, S extends z.core.$ZodLooseShape>(name: K, about: string, parameters: S) {
  return z.strictObject({ kind: z.literal(name), ...parameters }).describe(about)
}

/** Parameters of a delay in milliseconds: fixed, uniform, or log-normal. */
const lateness = (limitMs: number, defaultMs: number) => {
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

const copies = wholeNumberFrom(1, 20).default(1).describe('number of extra copies')
const shareSent = numberFrom(0, 0.99).default(0.5).describe('share of the body that is sent')
const pieceBytes = (bytes: number) => wholeNumberFrom(1, mebibyte).default(bytes)
const retryAfterS = (seconds: number) =>
  wholeNumberFrom(1, 86_400).default(seconds).describe('value of Retry-After, in seconds')

/** Faults of deliveries. */
export const outFault = z.discriminatedUnion(
  'kind',
  [
    kind('delay', 'Waits before the first attempt, in world time.', lateness(dayMs, 10_000)),
    kind(
      'reorder',
      'Waits for a random part of a window before the first attempt, so that later events arrive first.',
      {
        windowMs: wholeNumberFrom(1, dayMs).default(60_000).describe('the window, in world time'),
      },
    ),
    kind('burst', 'Holds first attempts until the next whole multiple of an interval, so that they arrive in bursts.', {
      everyMs: wholeNumberFrom(1, dayMs).default(60_000).describe('the interval, on the world clock'),
    }),
    kind('skew', 'Shifts created_at, as if the clock of the sender were wrong.', {
      ms: wholeNumberFrom(-yearMs, yearMs).default(3_600_000).describe('shift; negative values lie in the past'),
    }),
    kind('unknown-type', 'Replaces the type of the event by an unknown one.', {
      type: z
        .string()
        .regex(/^[\w.-]{1,100}$/, 'expected 1 to 100 letters, digits, dots, hyphens or underscores')
        .default('token.unheard_of')
        .describe('the type'),
    }),
    kind('case-flip', 'Swaps the case of letters in EVM addresses; hashes and Solana addresses stay unchanged.', {}),
    kind('extra-fields', 'Adds unknown members at the top level and in data.', {}),
    kind('reserialise', 'Serializes the same event in another way.', {
      profile: z.enum(serializerProfiles).default('canonical').describe('the serializer profile'),
    }),
    kind('huge', 'Adds a long member to data.', {
      bytes: wholeNumberFrom(1, 20 * mebibyte)
        .default(2 * mebibyte)
        .describe('size of the whole body; larger bodies stay unchanged'),
    }),
    kind('signature-wrong-secret', 'Signs with another secret.', {}),
    kind('signature-bad', 'Changes one digit of the signature.', {}),
    kind('signature-upper-case', 'Writes the signature in upper case.', {}),
    kind('signature-prefixed', 'Prefixes the signature with sha256=.', {}),
    kind('signature-repeated', 'Sends the signature header twice.', {}),
    kind('signature-missing', 'Omits the signature.', {}),
    kind('tamper', 'Changes one byte of the body after signing.', {}),
    kind('truncate', 'Cuts the body after signing; the framing is correct.', { share: shareSent }),
    kind('chunked', 'Sends the body in chunks, without Content-Length.', {
      chunkBytes: pieceBytes(16).describe('bytes per chunk'),
    }),
    kind('slow', 'Sends the body slowly, piece by piece.', {
      bytes: pieceBytes(64).describe('bytes per piece'),
      everyMs: wholeNumberFrom(1, 60_000).default(200).describe('interval between pieces, in real time'),
    }),
    kind('cut', 'Closes the connection in the middle of the body.', { share: shareSent }),
    kind('reset', 'Resets the connection in the middle of the body.', { share: shareSent }),
    kind('duplicate-at-once', 'Sends the same delivery several times at once.', { copies }),
    kind('duplicate', 'Sends the same delivery again after it is acknowledged.', { copies }),
    kind('drop-ack', 'Ignores the acknowledgement, as if it were lost.', {}),
  ],
  { error: ({ input }) => wrongKind(input, 'out') },
)
export type OutFault = z.output<typeof outFault>

/** Faults of REST responses. */
export const inFault = z.discriminatedUnion(
  'kind',
  [
    kind('latency', 'Delays the response, in real time.', lateness(60_000, 1_000)),
    kind('too-many-requests', 'Rejects with 429 within the quota; nothing is done.', {
      retryAfterS: retryAfterS(1),
    }),
    kind('error-500', 'Rejects with 500; nothing is done.', {}),
    kind('error-503', 'Rejects with 503; nothing is done.', { retryAfterS: retryAfterS(1) }),
    kind('empty', 'Processes the request; responds 200 without a body.', {}),
    kind('malformed', 'Processes the request; the JSON of the response breaks off.', {}),
    kind('malformed-chunk', 'Processes the request; the framing of the response breaks in the middle.', {}),
    kind('reset', 'Processes the request; resets the connection instead of responding.', {}),
    kind('cursor-loop', 'Sets next_cursor to the same page again, from the second page on.', {}),
    kind('cursor-missing', 'Omits next_cursor, though more items exist.', {}),
    kind('extra-members', 'Adds unknown members to data and meta.', {}),
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

/** A kind of fault, for display and for forms. */
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
  /** Allowed values, if there is a fixed list. */
  readonly choices?: readonly unknown[]
}

/** All kinds of faults, derived from the rule schemas. */
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

// Fault rules: kind, target and frequency.

const scriptProblem = 'expected 1 to 1000 steps such as x.x.., where x injects the fault and . does not'

const howOften = {
  /** Share of matches that get the fault. Default: all. */
  rate: z.exactOptional(numberFrom(0, 1)),
  /** One step per match; no faults after its end. */
  script: z.exactOptional(z.string(scriptProblem).regex(/^[x.]{1,1000}$/, scriptProblem)),
  /** Restarts the script at its end. */
  scriptRepeats: z.exactOptional(z.boolean()),
  /** Maximum number of faults. */
  times: z.exactOptional(wholeNumberFrom(1, 1_000_000)),
}

const typeProblem = 'expected an event type, a prefix such as wallet.*, or *'

const outRule = z
  .strictObject({
    /** Applies to deliveries. */
    direction: z.literal('out'),
    fault: outFault,
    /** Endpoint id or URL. Default: all. */
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

const pathProblem = 'expected a path below /v1, or a prefix such as /v1/tokens*'

const inRule = z
  .strictObject({
    /** Applies to REST responses. */
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

/** A rule as submitted. Unknown members are rejected: a misspelt one would change the meaning silently. */
export const faultRuleSchema = z.discriminatedUnion('direction', [outRule, inRule], {
  error: 'expected out (deliveries) or in (REST responses)',
})

export type FaultRule = z.output<typeof faultRuleSchema>
/** A rule before defaults are applied. */
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
    context.addIssue({ code: 'custom', message: 'expected only together with a script', path: ['scriptRepeats'] })
  }
}
