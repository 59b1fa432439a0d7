import { serialize, type SerializerProfile } from '../serialize.ts'
import type { OutFault } from './kinds.ts'

/** A fault that changes an event before it is signed. */
export type BodyFault = Extract<
  OutFault,
  { kind: 'skew' | 'unknown-type' | 'case-flip' | 'extra-fields' | 'reserialise' | 'huge' }
>

/** Members that a later version of the service might add: readers must ignore them (R125). */
const added = { version: 2, labels: ['new', null, 'größer'], share: 0.25 }

type Json = Readonly<Record<string, unknown>>

/** Applies faults to an event, in order. A body that is not a JSON object stays unchanged. */
export function alterBody(body: Buffer, faults: readonly BodyFault[]): Buffer {
  const event = faults.length === 0 ? null : parse(body)
  if (event === null) return body
  const changed = faults.reduce<Json>(change, event)
  const profile = faults.findLast((fault) => fault.kind === 'reserialise')?.profile ?? 'spaced'
  const bytes = faults.findLast((fault) => fault.kind === 'huge')?.bytes ?? 0
  return pad(changed, bytes, profile)
}

function change(event: Json, fault: BodyFault): Json {
  switch (fault.kind) {
    case 'skew':
      return { ...event, created_at: skew(event['created_at'], fault.ms) }
    case 'unknown-type':
      return { ...event, type: fault.type }
    case 'case-flip':
      return { ...event, data: flipAddresses(event['data']) }
    case 'extra-fields':
      return { ...event, data: { ...toObject(event['data']), added_later: added }, added_later: added }
    case 'reserialise':
    case 'huge':
      return event
  }
}

function skew(at: unknown, ms: number): unknown {
  const time = typeof at === 'string' ? Date.parse(at) : NaN
  const skewed = new Date(time + ms)
  // Dates out of range stay unchanged.
  return Number.isNaN(skewed.getTime()) ? at : skewed.toISOString()
}

/** Flips EVM addresses anywhere in text. Longer runs of digits, such as hashes, don't match. */
function flipAddresses(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replace(/\b0x([\da-f]{40})\b/gi, (_, digits: string) => `0x${flip(digits)}`)
  if (Array.isArray(value)) return value.map(flipAddresses)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, flipAddresses(member)]))
}

function flip(digits: string): string {
  return digits.replace(/[a-f]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()))
}

/** Pads an event to at least `bytes` with a meaningless member of `data`. */
function pad(event: Json, bytes: number, profile: SerializerProfile): Buffer {
  const plain = serialize(event, profile)
  if (plain.length >= bytes) return plain
  const padded = (padding: string) => serialize({ ...event, data: { ...toObject(event['data']), padding } }, profile)
  return padded('x'.repeat(Math.max(0, bytes - padded('').length)))
}

function parse(body: Buffer): Json | null {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
  } catch {
    return null
  }
}

function toObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
