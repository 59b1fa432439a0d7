import type { IncomingDelivery, Item, Lease, LeasedReplay, Outcome } from './port.ts'

type Field = string | number | null

/**
 * Batches cross threads as one flat list of fields: cloning an object per event costs more than storing it. Bodies are sent as latin1
 * text, one character per byte: copying is as fast, and leaves no buffers that the garbage collector counts as external memory.
 */
type WireBatch = readonly Field[]

/** Reads the fields of a flat list in order. */
class Fields {
  readonly #fields: WireBatch
  #next = 0

  constructor(fields: WireBatch) {
    this.#fields = fields
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#fields.length
  }

  /** The next field, in the type with which it was written. */
  next<T extends Field = string>(): T {
    return this.#fields[this.#next++] as T
  }

  bytes(): Buffer {
    return Buffer.from(this.next<string>(), 'latin1')
  }
}

function toLatin1(raw: Uint8Array): string {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1')
}

function packDeliveries(batch: readonly IncomingDelivery[]): WireBatch {
  const fields: Field[] = []
  for (const delivery of batch) {
    const { kind, id, receivedAt, secretLabel, raw } = delivery
    fields.push(kind, id, receivedAt, secretLabel, toLatin1(raw))
    if (delivery.kind === 'quarantined') fields.push(delivery.reason)
    else {
      const { type, createdAt, key, network, address, headers = null, trace = null, stableDigest = null } = delivery
      fields.push(type, createdAt, key, network, address, headers, trace, stableDigest)
    }
  }
  return fields
}

function unpackDeliveries(wire: WireBatch): IncomingDelivery[] {
  const from = new Fields(wire)
  const batch: IncomingDelivery[] = []
  while (!from.isAtEnd) {
    const kind = from.next<IncomingDelivery['kind']>()
    const common = { id: from.next(), receivedAt: from.next<number>(), secretLabel: from.next(), raw: from.bytes() }
    if (kind === 'quarantined') batch.push({ kind, ...common, reason: from.next() })
    else {
      batch.push({
        kind,
        ...common,
        type: from.next(),
        createdAt: from.next(),
        key: from.next(),
        network: from.next<string | null>(),
        address: from.next<string | null>(),
        headers: from.next<string | null>(),
        trace: from.next<string | null>(),
        stableDigest: from.next<string | null>(),
      })
    }
  }
  return batch
}

function packLeases(leases: readonly Lease[]): WireBatch {
  const fields: Field[] = []
  for (const { runId, token, handler, attempt, failed, crashed, event, key: runKey, replay, item } of leases) {
    const { seq, id, type, createdAt, receivedAt, key, secretLabel, raw, trace = null } = event
    fields.push(runId, token, handler, attempt, failed, crashed)
    fields.push(seq, id, type, createdAt, receivedAt, key, secretLabel, toLatin1(raw), trace)
    fields.push(runKey, replay?.id ?? null)
    if (replay !== null) fields.push(replay.newKeys ? 1 : 0)
    fields.push(item?.idempotencyKey ?? null)
    if (item !== null) fields.push(item.payload)
  }
  return fields
}

function unpackLeases(wire: WireBatch): Lease[] {
  const from = new Fields(wire)
  const leases: Lease[] = []
  while (!from.isAtEnd) {
    leases.push({
      runId: from.next<number>(),
      token: from.next<number>(),
      handler: from.next(),
      attempt: from.next<number>(),
      failed: from.next<number>(),
      crashed: from.next<number>(),
      event: {
        seq: from.next<number>(),
        id: from.next(),
        type: from.next(),
        createdAt: from.next(),
        receivedAt: from.next<number>(),
        key: from.next(),
        secretLabel: from.next(),
        raw: from.bytes(),
        trace: from.next<string | null>(),
      },
      key: from.next<string | null>(),
      replay: unpackReplay(from),
      item: unpackItem(from),
    })
  }
  return leases
}

function unpackReplay(from: Fields): LeasedReplay | null {
  const id = from.next<number | null>()
  return id === null ? null : { id, newKeys: from.next<number>() === 1 }
}

function unpackItem(from: Fields): Item | null {
  const idempotencyKey = from.next<string | null>()
  return idempotencyKey === null ? null : { idempotencyKey, payload: from.next() }
}

/** Converts the only argument and the result of a method for another thread. */
interface Codec {
  readonly pack?: (argument: never) => unknown
  readonly unpack?: (wire: never) => unknown
  readonly packResult?: (result: never) => unknown
  readonly unpackResult?: (wire: never) => unknown
}

/** Codecs by method. Values of other methods are cloned. Outcomes differ in shape, and JSON is the fastest copy of them. */
export const codecs: Readonly<Record<string, Codec>> = {
  accept: { pack: packDeliveries, unpack: unpackDeliveries },
  claim: { packResult: packLeases, unpackResult: unpackLeases },
  settle: {
    pack: (outcomes: readonly Outcome[]) => JSON.stringify(outcomes),
    unpack: (json: string) => JSON.parse(json) as Outcome[],
  },
  release: {
    pack: (leases: readonly Pick<Lease, 'runId' | 'token'>[]) => leases.map(({ runId, token }) => ({ runId, token })),
  },
}
