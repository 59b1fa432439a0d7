import type { RandomStream } from '../random.ts'
import type { InFault, OutFault } from './kinds.ts'
import type { AnswerPlan, AttemptPlan, InsteadOfAnswer, Wire } from './port.ts'
import { type BodyFault, alterBody } from './body-faults.ts'
import { sign } from '../../signature/sign.ts'

const maxAnswerDelayMs = 60_000
const added = { added_later: { version: 2, labels: ['new', null], share: 0.25 } }

type Envelope = Readonly<Record<string, unknown>>

/** A fault of a response, with its random stream. */
export interface AppliedAnswerFault {
  readonly fault: InFault
  readonly draw: () => RandomStream
}

/**
 * Plans the faults of a response in composition order: delays add up, changes accumulate. The last fault that replaces
 * the response wins.
 */
export function planAnswerOf(applied: readonly AppliedAnswerFault[]): AnswerPlan {
  const faults = applied.map(({ fault }) => fault)
  const replacing = faults.findLast((fault) => toInstead(fault) !== null)
  return {
    faults: [...new Set(faults.filter((one) => toInstead(one) === null || one === replacing).map(({ kind }) => kind))],
    delayMs: applied.reduce(
      (sum, { fault, draw }) => sum + (fault.kind === 'latency' ? drawLateness(fault, draw(), maxAnswerDelayMs) : 0),
      0,
    ),
    instead: replacing === undefined ? null : toInstead(replacing),
    alter: (envelope, { cursor }) =>
      faults.reduce<Envelope>((answer, fault) => change(answer, fault, cursor), envelope),
  }
}

function toInstead(fault: InFault): InsteadOfAnswer | null {
  switch (fault.kind) {
    case 'too-many-requests':
      return { kind: 'error', status: 429, retryAfterS: fault.retryAfterS }
    case 'error-503':
      return { kind: 'error', status: 503, retryAfterS: fault.retryAfterS }
    case 'error-500':
      return { kind: 'error', status: 500 }
    case 'empty':
    case 'malformed':
    case 'malformed-chunk':
    case 'reset':
      return { kind: fault.kind }
    case 'latency':
    case 'cursor-loop':
    case 'cursor-missing':
    case 'extra-members':
      return null
  }
}

function change(envelope: Envelope, fault: InFault, cursor: string | null): Envelope {
  const meta = toObject(envelope['meta'])
  const hasNext = typeof meta['next_cursor'] === 'string'
  if (fault.kind === 'cursor-loop' && hasNext && cursor !== null) {
    return { ...envelope, meta: { ...meta, next_cursor: cursor } }
  }
  if (fault.kind === 'cursor-missing' && hasNext) {
    const { next_cursor: _, ...rest } = meta
    return { ...envelope, meta: rest }
  }
  if (fault.kind === 'extra-members') {
    return { ...envelope, data: addMembers(envelope['data']), meta: { ...meta, ...added } }
  }
  return envelope
}

/** Adds members to an object, or to each object of a list. */
function addMembers(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(addMembers)
  return typeof data === 'object' && data !== null ? { ...data, ...added } : data
}

function toObject(value: unknown): Envelope {
  return typeof value === 'object' && value !== null ? (value as Envelope) : {}
}

/** A fault that is decided for each attempt. */
export type AttemptFault = Exclude<OutFault, HoldFault | BodyFault>

type WireFault = Extract<AttemptFault, { kind: 'chunked' | 'slow' | 'cut' | 'reset' }>

/** A fault of an attempt, with its random stream. */
interface AppliedAttemptFault {
  readonly fault: AttemptFault
  readonly draw: () => RandomStream
}

/**
 * Plans the faults of an attempt: of body, signature, bytes, connection, and repetition. Both lists are in composition
 * order. The last fault of the wire wins.
 */
export function planAttemptOf(bodyFaults: readonly BodyFault[], applied: readonly AppliedAttemptFault[]): AttemptPlan {
  const faults = applied.map(({ fault }) => fault)
  const signatureFaults = faults.filter(isSignatureFault)
  const wireFault = faults.findLast(isWireFault)
  const injected = faults.filter((fault) => !isWireFault(fault) || fault === wireFault)
  return {
    faults: [...new Set([...bodyFaults, ...injected].map(({ kind }) => kind))],
    alter: (body) => alterBody(body, bodyFaults),
    sign: (body, secret) => signWith(signatureFaults, body, secret),
    tamper: (body) => applied.reduce(tamper, body),
    wire: toWire(wireFault),
    twins: copiesOf('duplicate-at-once', faults),
    repeats: copiesOf('duplicate', faults),
    dropsAck: faults.some(({ kind }) => kind === 'drop-ack'),
  }
}

/** A plan without faults. */
export const noFaults: AttemptPlan = planAttemptOf([], [])

function tamper(body: Buffer, { fault, draw }: AppliedAttemptFault): Buffer {
  if (fault.kind === 'truncate') return body.subarray(0, Math.floor(body.length * fault.share))
  if (fault.kind !== 'tamper' || body.length === 0) return body
  const changed = Buffer.from(body)
  const at = draw().integer(0, body.length - 1)
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
  return changed
}

function toWire(fault: WireFault | undefined): Wire {
  switch (fault?.kind) {
    case undefined:
      return { mode: 'whole' }
    case 'chunked':
      return { mode: 'chunked', chunkBytes: fault.chunkBytes }
    case 'slow':
      return { mode: 'slow', bytes: fault.bytes, everyMs: fault.everyMs }
    case 'cut':
    case 'reset':
      return { mode: fault.kind, share: fault.share }
  }
}

function copiesOf(kind: 'duplicate-at-once' | 'duplicate', faults: readonly AttemptFault[]): number {
  return faults.reduce((sum, fault) => sum + (fault.kind === kind ? fault.copies : 0), 0)
}

function isSignatureFault(fault: AttemptFault): fault is SignatureFault {
  return fault.kind.startsWith('signature-')
}

function isWireFault(fault: AttemptFault): fault is WireFault {
  return fault.kind === 'chunked' || fault.kind === 'slow' || fault.kind === 'cut' || fault.kind === 'reset'
}

/** A fault of the signature header. */
type SignatureFault = Extract<OutFault, { kind: `signature-${string}` }>

/** Secret of a forger. */
const wrongSecret = 'whsec_of-a-forger-not-of-the-receiver'

/** Values of the signature header for `body`, with these faults applied in order. */
function signWith(faults: readonly SignatureFault[], body: Buffer, secret: string): readonly string[] {
  return faults.reduce<readonly string[]>(
    (values, { kind }) => {
      switch (kind) {
        case 'signature-wrong-secret':
          return [sign(body, wrongSecret)]
        case 'signature-bad':
          return values.map((value) => `${value[0] === '0' ? '1' : '0'}${value.slice(1)}`)
        case 'signature-upper-case':
          return values.map((value) => value.toUpperCase())
        case 'signature-prefixed':
          return values.map((value) => `sha256=${value}`)
        case 'signature-repeated':
          return [...values, ...values]
        case 'signature-missing':
          return []
      }
    },
    [sign(body, secret)],
  )
}

/** Parameters of the faults `delay` and `latency`. */
interface Lateness {
  readonly distribution: 'fixed' | 'uniform' | 'lognormal'
  readonly ms: number
  readonly minMs: number
  readonly maxMs: number
  readonly medianMs: number
  readonly sigma: number
}

/** Draws whole milliseconds, at most `limitMs`. */
function drawLateness(lateness: Lateness, stream: RandomStream, limitMs: number): number {
  return Math.min(limitMs, Math.round(draw(lateness, stream)))
}

function draw({ distribution, ms, minMs, maxMs, medianMs, sigma }: Lateness, stream: RandomStream): number {
  switch (distribution) {
    case 'fixed':
      return ms
    case 'uniform':
      return minMs + stream.uniform() * Math.max(0, maxMs - minMs)
    case 'lognormal':
      return medianMs * Math.exp(sigma * stream.normal())
  }
}

const maxHoldMs = 86_400_000

/** A fault that holds a delivery back before its first attempt. */
export type HoldFault = Extract<OutFault, { kind: 'delay' | 'reorder' | 'burst' }>

/** Postpones a delivery due at `at`; both in milliseconds since 1970 of world time. */
export function hold(fault: HoldFault, at: number, stream: RandomStream): number {
  switch (fault.kind) {
    case 'delay':
      return at + drawLateness(fault, stream, maxHoldMs)
    case 'reorder':
      return at + Math.floor(stream.uniform() * fault.windowMs)
    case 'burst':
      return Math.ceil(at / fault.everyMs) * fault.everyMs
  }
}
