import type {
  AcceptResult,
  IncomingDelivery,
  Effects,
  Item,
  Lease,
  LeasedReplay,
  Outcome,
  RunError,
  SettleResult,
} from './port.ts'

type Field = string | number | null

/**
 * Batches cross threads as one flat list of fields: cloning an object per event costs more than storing it. Bodies are sent as latin1
 * text, one character per byte: copying is as fast, and leaves no buffers that the garbage collector counts as external memory.
 */
export type WireBatch = readonly Field[]

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

  field(): Field {
    return this.#fields[this.#next++] as Field
  }

  text(): string {
    return this.#fields[this.#next++] as string
  }

  textOrNull(): string | null {
    return this.#fields[this.#next++] as string | null
  }

  number(): number {
    return this.#fields[this.#next++] as number
  }

  numberOrNull(): number | null {
    return this.#fields[this.#next++] as number | null
  }

  raw(): Buffer {
    return Buffer.from(this.text(), 'latin1')
  }
}

/** Sends each text of a batch once. A repeated text is sent as the number of its first occurrence. */
class StringTableWriter {
  readonly #numbers = new Map<string, number>()

  field(text: string | null): Field {
    const known = text === null ? undefined : this.#numbers.get(text)
    if (text !== null && known === undefined) this.#numbers.set(text, this.#numbers.size)
    return known ?? text
  }
}

/** The counterpart of `StringTableWriter`. */
class StringTableReader {
  readonly #texts: string[] = []

  text(field: Field): string | null {
    if (typeof field === 'number') return this.#texts[field] ?? null
    if (field !== null) this.#texts.push(field)
    return field
  }
}

function toLatin1(raw: Uint8Array): string {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1')
}

export function packDeliveries(batch: readonly IncomingDelivery[]): WireBatch {
  const fields: Field[] = []
  const texts = new StringTableWriter()
  for (const delivery of batch) {
    const { kind, id, receivedAt, secretLabel, raw } = delivery
    fields.push(kind, id, receivedAt, secretLabel, toLatin1(raw))
    if (delivery.kind === 'quarantined') fields.push(delivery.reason)
    else {
      fields.push(delivery.type, delivery.createdAt, delivery.key, delivery.network, delivery.address)
      fields.push(texts.field(delivery.headers ?? null), delivery.trace ?? null)
    }
  }
  return fields
}

export function unpackDeliveries(wire: WireBatch): IncomingDelivery[] {
  const from = new Fields(wire)
  const texts = new StringTableReader()
  const batch: IncomingDelivery[] = []
  while (!from.isAtEnd) {
    const kind = from.text() as IncomingDelivery['kind']
    const common = { id: from.text(), receivedAt: from.number(), secretLabel: from.text(), raw: from.raw() }
    if (kind === 'quarantined') batch.push({ kind, ...common, reason: from.text() })
    else {
      batch.push({
        kind,
        ...common,
        type: from.text(),
        createdAt: from.text(),
        key: from.text(),
        network: from.textOrNull(),
        address: from.textOrNull(),
        headers: texts.text(from.field()),
        trace: from.textOrNull(),
      })
    }
  }
  return batch
}

export function packLeases(leases: readonly Lease[]): WireBatch {
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

export function unpackLeases(wire: WireBatch): Lease[] {
  const from = new Fields(wire)
  const leases: Lease[] = []
  while (!from.isAtEnd) {
    leases.push({
      runId: from.number(),
      token: from.number(),
      handler: from.text(),
      attempt: from.number(),
      failed: from.number(),
      crashed: from.number(),
      event: {
        seq: from.number(),
        id: from.text(),
        type: from.text(),
        createdAt: from.text(),
        receivedAt: from.number(),
        key: from.text(),
        secretLabel: from.text(),
        raw: from.raw(),
        trace: from.textOrNull(),
      },
      key: from.textOrNull(),
      replay: unpackReplay(from),
      item: unpackItem(from),
    })
  }
  return leases
}

function unpackReplay(from: Fields): LeasedReplay | null {
  const id = from.numberOrNull()
  return id === null ? null : { id, newKeys: from.number() === 1 }
}

function unpackItem(from: Fields): Item | null {
  const idempotencyKey = from.textOrNull()
  return idempotencyKey === null ? null : { idempotencyKey, payload: from.text() }
}

export function packOutcomes(outcomes: readonly Outcome[]): WireBatch {
  const fields: Field[] = []
  for (const outcome of outcomes) {
    fields.push(outcome.kind, outcome.runId, outcome.token, outcome.startedAt, outcome.endedAt)
    switch (outcome.kind) {
      case 'done':
        fields.push(outcome.effects === undefined ? null : JSON.stringify(outcome.effects))
        break
      case 'retry':
        fields.push(outcome.at, ...errorFields(outcome.error))
        break
      case 'dead':
        fields.push(...errorFields(outcome.error))
        break
      case 'snooze':
        fields.push(outcome.at)
        break
      case 'expired':
      case 'unmatched':
        break
    }
  }
  return fields
}

export function unpackOutcomes(fields: WireBatch): Outcome[] {
  const from = new Fields(fields)
  const outcomes: Outcome[] = []
  while (!from.isAtEnd) {
    const kind = from.text() as Outcome['kind']
    const lease = { runId: from.number(), token: from.number(), startedAt: from.number(), endedAt: from.number() }
    outcomes.push({ ...lease, ...unpackKind(kind, from) })
  }
  return outcomes
}

type Verdict<K extends Outcome['kind']> = Omit<
  Extract<Outcome, { kind: K }>,
  'runId' | 'token' | 'startedAt' | 'endedAt'
>

function unpackKind(kind: Outcome['kind'], from: Fields): { [K in Outcome['kind']]: Verdict<K> }[Outcome['kind']] {
  switch (kind) {
    case 'done':
      return { kind, ...unpackEffects(from) }
    case 'retry':
      return { kind, at: from.number(), error: unpackError(from) }
    case 'dead':
      return { kind, error: unpackError(from) }
    case 'snooze':
      return { kind, at: from.number() }
    case 'expired':
    case 'unmatched':
      return { kind }
  }
}

function errorFields({ name, message, stack }: RunError): Field[] {
  return [name, message, stack ?? null]
}

/** Effects are rare, so they are sent as JSON. */
function unpackEffects(from: Fields): { effects?: Effects } {
  const text = from.textOrNull()
  return text === null ? {} : { effects: JSON.parse(text) as Effects }
}

function unpackError(from: Fields): RunError {
  const error = { name: from.text(), message: from.text() }
  const stack = from.textOrNull()
  return stack === null ? error : { ...error, stack }
}

type WireResults<R> = readonly R[] | { readonly all: R; readonly count: number }

/** If all results of a batch are equal, as usual, sends the result once. */
export function packResults<R extends AcceptResult | SettleResult>(results: readonly R[]): WireResults<R> {
  const [first] = results
  if (first === undefined || results.some((result) => result !== first)) return results
  return { all: first, count: results.length }
}

export function unpackResults<R extends AcceptResult | SettleResult>(wire: WireResults<R>): readonly R[] {
  return 'all' in wire ? Array.from({ length: wire.count }, () => wire.all) : wire
}

type RunTokens = readonly Pick<Lease, 'runId' | 'token'>[]

/** Converts the only argument and the result of a method for another thread. */
interface Codec {
  readonly pack?: (argument: never) => unknown
  readonly unpack?: (wire: never) => unknown
  readonly packResult?: (result: never) => unknown
  readonly unpackResult?: (wire: never) => unknown
}

/** Codecs by method. Values of other methods are cloned. */
export const codecs: Readonly<Record<string, Codec>> = {
  accept: { pack: packDeliveries, unpack: unpackDeliveries, packResult: packResults, unpackResult: unpackResults },
  claim: { packResult: packLeases, unpackResult: unpackLeases },
  settle: { pack: packOutcomes, unpack: unpackOutcomes, packResult: packResults, unpackResult: unpackResults },
  release: { pack: (leases: RunTokens) => leases.map(({ runId, token }) => ({ runId, token })) },
}
