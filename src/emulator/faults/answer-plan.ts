import type { RandomStream } from '../random.ts'
import type { InFault } from './kinds.ts'
import { drawLateness } from './lateness.ts'
import type { AnswerPlan, InsteadOfAnswer } from './port.ts'

const longestMs = 60_000
const added = { added_later: { version: 2, labels: ['new', null], share: 0.25 } }

type Envelope = Readonly<Record<string, unknown>>

/** A fault that has struck, and where its chance is taken from. */
export interface StruckAnswer {
  readonly fault: InFault
  readonly draw: () => RandomStream
}

/**
 * What an answer suffers, in the order in which the faults come: all that make it late, and all that change it. One answer at
 * most comes in its place: the last one decides.
 */
export function planAnswerOf(struck: readonly StruckAnswer[]): AnswerPlan {
  const faults = struck.map(({ fault }) => fault)
  const replacing = faults.findLast((fault) => toInstead(fault) !== null)
  return {
    faults: [...new Set(faults.filter((one) => toInstead(one) === null || one === replacing).map(({ kind }) => kind))],
    delayMs: struck.reduce(
      (sum, { fault, draw }) => sum + (fault.kind === 'latency' ? drawLateness(fault, draw(), longestMs) : 0),
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

/** To an object, or to each object of a list. */
function addMembers(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(addMembers)
  return typeof data === 'object' && data !== null ? { ...data, ...added } : data
}

function toObject(value: unknown): Envelope {
  return typeof value === 'object' && value !== null ? (value as Envelope) : {}
}
