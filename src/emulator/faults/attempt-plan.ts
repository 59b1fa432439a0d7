import { alterBody, type BodyFault } from './body-faults.ts'
import type { OutFault } from './kinds.ts'
import type { HoldFault } from './lateness.ts'
import type { AttemptPlan, Wire } from './port.ts'
import type { RandomStream } from '../random.ts'
import { sign } from '../../signature/sign.ts'

/** A fault that may befall one attempt and not the next. */
export type AttemptFault = Exclude<OutFault, HoldFault | BodyFault>

type WireFault = Extract<AttemptFault, { kind: 'chunked' | 'slow' | 'cut' | 'reset' }>

/** A fault that has struck, and where its chance is taken from. */
interface Struck {
  readonly fault: AttemptFault
  readonly draw: () => RandomStream
}

/**
 * What an attempt suffers: of the event, of its signature, of its bytes, of the connection, of what follows. Both lists are in
 * the order in which faults compose. A body goes over the wire in one way: the last fault of the wire decides.
 */
export function planAttemptOf(bodyFaults: readonly BodyFault[], struck: readonly Struck[]): AttemptPlan {
  const faults = struck.map(({ fault }) => fault)
  const signatureFaults = faults.filter(isSignatureFault)
  const wireFault = faults.findLast(isWireFault)
  const felt = faults.filter((fault) => !isWireFault(fault) || fault === wireFault)
  return {
    faults: [...new Set([...bodyFaults, ...felt].map(({ kind }) => kind))],
    alter: (body) => alterBody(body, bodyFaults),
    sign: (body, secret) => signWith(signatureFaults, body, secret),
    tamper: (body) => struck.reduce(tamper, body),
    wire: toWire(wireFault),
    twins: copiesOf('duplicate-at-once', faults),
    repeats: copiesOf('duplicate', faults),
    dropsAck: faults.some(({ kind }) => kind === 'drop-ack'),
  }
}

/** Without any fault. */
export const asItShould: AttemptPlan = planAttemptOf([], [])

function tamper(body: Buffer, { fault, draw }: Struck): Buffer {
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

/** A fault of the header with the signature. */
type SignatureFault = Extract<OutFault, { kind: `signature-${string}` }>

/** Signs with it who has not the secret. */
const wrongSecret = 'whsec_that-no-receiver-was-ever-told'

/** The values of the signature header over `body` with these faults, one after the other. */
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
