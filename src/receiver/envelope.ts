import { envelopeSchema } from '../../schema/envelope.ts'
import { internalTypePrefix } from '../inbox/port.ts'
import { isObject, isText, parseJsonBody, type JsonProblem } from '../base/json-body.ts'
import { foldAddress } from '../base/fold-address.ts'

/** A usable envelope `{id, type, created_at, data}` (R92); unknown members are allowed (R125). */
export interface Envelope {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Why authentic bytes are not a usable envelope. */
export type Unusable = JsonProblem | 'not_an_envelope' | 'bad_id' | 'own_type'

/** Characters. */
const maxIdLength = 255
const maxTypeLength = 255
const createdAtSchema = envelopeSchema.shape.created_at

/**
 * Parses the envelope of a delivery. Returns the reason if it is unusable. Never throws. Written by hand, because it
 * runs for each request. A test keeps it equivalent to `schema/envelope.ts`.
 */
export function readEnvelope(raw: Uint8Array): Envelope | Unusable {
  const body = parseJsonBody(raw)
  if (!body.ok) return body.reason
  if (!isObject(body.value)) return 'not_an_envelope'
  const { id, type, created_at: createdAt, data } = body.value
  if (!isText(id, maxIdLength)) return 'bad_id'
  if (!isText(type, maxTypeLength) || !isObject(data)) return 'not_an_envelope'
  const time = createdAtSchema.safeParse(createdAt)
  if (!time.success) return 'not_an_envelope'
  // Only the inbox creates internal events, so consumers may trust them.
  if (type.startsWith(internalTypePrefix)) return 'own_type'
  return { id, type, created_at: time.data, data }
}

/** Characters of a network or an address; longer ones give no key. */
const maxPartLength = 128

/** Ordering key of an event, and its parts; they are null if the key is the event's own id. */
export interface EventKey {
  readonly key: string
  readonly network: string | null
  readonly address: string | null
}

interface KeyedEvent {
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/**
 * Computes the key of an event: `network:address` of its token, wallet or contract. Tokens and contracts share a
 * namespace. Other events, or events without these fields, use their own id, which means no order. EVM addresses are
 * folded to lower case; everything else stays unchanged (A9).
 */
export function keyOf(event: KeyedEvent): EventKey {
  const network = event.type === 'pump.graduation' ? 'solana' : part(event.data['network'])
  const address = part(event.data[addressField(event.type)])
  if (network === null || address === null || network.includes(':')) {
    return { key: event.id, network: null, address: null }
  }
  const folded = foldAddress(address)
  return { key: `${network}:${folded}`, network, address: folded }
}

function addressField(type: string): string {
  if (type.startsWith('token.') || type === 'pump.graduation') return 'token_address'
  if (type.startsWith('wallet.')) return 'wallet_address'
  if (type.startsWith('contract.')) return 'contract_address'
  return ''
}

function part(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= maxPartLength && value.isWellFormed()
    ? value
    : null
}
