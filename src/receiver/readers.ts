import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { parseJsonBody } from '../base/json-body.ts'
import { defaultSource, keyOfSource, sourceOf, uidOf, type IncomingDelivery, type NewEvent } from '../inbox/port.ts'
import type { Secret } from '../signature/keys.ts'
import { verify } from '../signature/verify.ts'
import { identify, type AuthenticDelivery, type IdentifiedSource } from '../sources/identify.ts'
import { verifySource, type VerifiedSource } from '../sources/verify.ts'
import { answerFor, notAuthentic } from './answer.ts'
import { keyOf, readEnvelope } from './envelope.ts'
import { noReceipt, type DeliveryReader, type DeliveryReading, type ReceiptOf } from './ingest.ts'
import { toText } from './rejects.ts'

/** What a body and its verification are read as. */
type Body = Pick<IncomingDelivery, 'raw' | 'receivedAt' | 'secretLabel'>

/** A source that identifies deliveries. */
export type NamedSource = IdentifiedSource & { readonly name: string }

interface DefaultReaderOptions {
  readonly secrets: () => readonly Secret[]
  /** Lower case. */
  readonly signatureHeader: string
  readonly clock: Pick<Clock, 'now'>
  /** The other sources: the default one can't use their ids. */
  readonly sources?: readonly Pick<NamedSource, 'name'>[]
}

/** Reads deliveries of the default source: an HMAC of the body in one header, and an envelope. */
export function createDefaultReader(options: DefaultReaderOptions): DeliveryReader {
  const { secrets, signatureHeader, clock, sources = [] } = options
  return ({ raw, headers }, receipt) => {
    const verdict = verify(raw, toText(headers[signatureHeader]), secrets())
    if (!verdict.ok) return { kind: 'rejected', answer: answerFor('signature_invalid'), reason: verdict.reason }
    const body = { raw, receivedAt: clock.now(), secretLabel: verdict.label }
    return readDefaultBody(body, sources, receipt)
  }
}

interface SourceReaderOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly observer: { signed(isOld: boolean): void }
}

/** Reads deliveries of another source. */
export function createSourceReader(
  source: VerifiedSource & NamedSource,
  { clock, observer }: SourceReaderOptions,
): DeliveryReader {
  return async ({ raw, rawHeaders: headers, target }, receipt) => {
    const now = clock.now()
    const verdict = await verifySource(source, { raw, headers, now, ...(target !== undefined && { target }) })
    if (verdict.ok) {
      if (verdict.timestamp !== null) observer.signed(verdict.isOld)
      const body = { raw, receivedAt: now, secretLabel: `${source.name}/${verdict.label}` }
      // All bodies of one signature are one entry.
      if (verdict.isBodyLoose) {
        const parsed = parseJsonBody(raw)
        return quarantined(body, parsed.ok ? 'not_an_object' : parsed.reason, verdict.signedDigest())
      }
      return readSourceBody(source, body, { headers, covered: verdict.covered }, receipt)
    }
    const { reason } = verdict
    if (reason === 'old_timestamp') observer.signed(true)
    return reason === 'keys_unavailable' ? { kind: 'unavailable' } : { kind: 'rejected', answer: notAuthentic, reason }
  }
}

/** Parses a quarantined body again. Returns the event, or the reason if it is still unusable. */
export function readAsEvent(
  { raw, receivedAt, secretLabel, reason }: Body & { readonly reason?: string },
  sources: readonly NamedSource[] = [],
): NewEvent | string {
  // Its signature is valid for other bodies, too.
  if (reason === 'not_an_object') return reason
  const body = { raw, receivedAt, secretLabel }
  const source = sources.find(({ name }) => name === sourceOf(body))
  if (source === undefined && sourceOf(body) !== defaultSource) return 'unknown_source'
  const reading =
    source === undefined
      ? readDefaultBody(body, sources, noReceipt)
      : readSourceBody(source, body, { headers: [], covered: [] }, noReceipt)
  if (reading.kind !== 'event') return reading.kind === 'test' ? 'test' : reading.reason
  // Headers are not kept with quarantined bodies.
  const needsHeaders = [source?.id, source?.type].flat().some((reference) => reference?.startsWith('header.'))
  return needsHeaders ? 'headers_missing' : reading
}

function readDefaultBody(
  body: Body,
  sources: readonly Pick<NamedSource, 'name'>[],
  receipt: ReceiptOf,
): IncomingDelivery {
  const read = readEnvelope(body.raw)
  if (typeof read === 'string') return quarantined(body, read)
  const { id, type, created_at: createdAt } = read
  if (sources.some(({ name }) => id.startsWith(uidOf(name, '')))) return quarantined(body, 'bad_id')
  return { kind: 'event', id, type, createdAt, ...keyOf(read), ...body, ...receipt({ id, type }) }
}

function readSourceBody(
  source: NamedSource,
  body: Body,
  signed: Pick<AuthenticDelivery, 'headers' | 'covered'>,
  receipt: ReceiptOf,
): IncomingDelivery | Extract<DeliveryReading, { kind: 'test' }> {
  const result = identify(source, { ...body, ...signed })
  if (result.kind === 'test') return result
  if (result.kind === 'unusable') return quarantined(body, result.reason)
  const { type, createdAt, key, stableDigest } = result.event
  const id = uidOf(source.name, result.event.id)
  return {
    kind: 'event',
    id,
    type,
    createdAt,
    key: key === null ? id : keyOfSource(source.name, key),
    network: null,
    address: null,
    stableDigest,
    ...body,
    ...receipt({ id, type }),
  }
}

function quarantined(
  body: Body,
  reason: string,
  digest: string = createHash('sha256').update(body.raw).digest('hex'),
): IncomingDelivery {
  return { kind: 'quarantined', id: uidOf(sourceOf(body), `sha256:${digest}`), reason, ...body }
}
