import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import type { AcceptResult, IncomingDelivery, Lease, NewEvent } from '../port.ts'
import type { Work } from './claims.ts'
import type { Database, Rows } from './database.ts'
import type { Definitions, KnownDefinitions } from './definitions.ts'
import type { Gaps } from './gaps.ts'
import { createRouteKeys } from '../route-key.ts'
import { bigintArray, byteArray, integerArray, textArray, numbersIn } from './database.ts'
import { createTransactionQueue } from './transaction-queue.ts'
import { maxHeaderSets } from '../limits.ts'

export interface AcceptOptions {
  readonly db: Database
  readonly clock: Clock
  readonly definitions: Pick<Definitions, 'known' | 'read'>
  readonly gaps: Pick<Gaps, 'arrived'>
  readonly work: Pick<Work, 'offer' | 'wake'>
}

const resultOfCode: Readonly<Record<string, AcceptResult>> = {
  a: 'accepted',
  d: 'duplicate',
  c: 'conflict',
  q: 'quarantined',
}

/** Larger batches are not leased directly to waiting claims. */
const maxOfferBytes = 4 * 1024 * 1024

const noOffer: Work['offer'] = () => null
const bytesOf = (batch: readonly IncomingDelivery[]) => batch.reduce((sum, { raw }) => sum + raw.length, 0)

/** Deliveries are committed in turn: parallel statements would not be faster, because they wait for each other at the counter. */
export function createAccept({ db, clock, definitions, gaps, work }: AcceptOptions) {
  const headerSets = createHeaderSets()
  const deliveries = createTransactionQueue({ commit, bytesOf: ({ raw }) => raw.length })

  async function store(
    rows: Rows,
    batch: readonly IncomingDelivery[],
    makeOffer: Work['offer'],
  ): Promise<AcceptResult[]> {
    for (let known = await definitions.known(rows); ; known = await definitions.read(rows)) {
      const { values, hasNewHeaders, runs, offer } = acceptValues(batch, {
        now: clock.now(),
        known,
        headerSets,
        makeOffer,
      })
      let row: AcceptedRow | undefined
      try {
        ;[row] = await rows.query<AcceptedRow>(acceptStatement, values)
      } catch (error) {
        // The transaction was rolled back, unless the connection was lost.
        if (error instanceof InboxError && error.code === 'store_unavailable') offer?.lose()
        else offer?.end(new Map())
        throw error
      }
      if (row === undefined) throw new InboxError('internal', 'accept gave no row')
      const { results: codes } = row
      offer?.end(codes === null ? new Map() : directLeases(batch, runs, { ...row, results: codes }))
      // The definitions have changed, so the runs have to be planned again.
      if (codes === null) continue
      if (row.areReady === true) work.wake()
      if (hasNewHeaders) await headerSets.learn(rows)
      return Array.from(codes, (code, index) => {
        const result = resultOfCode[code]
        if (result === undefined) throw new InboxError('internal', `delivery ${index} has the unknown result "${code}"`)
        return result
      })
    }
  }

  async function commit(batch: readonly IncomingDelivery[]): Promise<AcceptResult[]> {
    const results = await store(db, batch, bytesOf(batch) > maxOfferBytes ? noOffer : work.offer)
    for (const [index, delivery] of batch.entries()) {
      if (delivery.kind === 'event' && results[index] === 'accepted') gaps.arrived(delivery)
    }
    return results
  }

  return {
    /** See `AcceptPort`. Throws `store_full`, `store_unavailable` or `shutting_down`. */
    accept: deliveries.add,
    /** Accepts one event within a transaction. Doesn't count it as late: call `gaps.arrived` after the commit. */
    async acceptIn(trx: Rows, event: NewEvent): Promise<AcceptResult> {
      const [result] = await store(trx, [event], noOffer)
      if (result === undefined) throw new InboxError('internal', `no result for the event ${JSON.stringify(event.id)}`)
      return result
    },
    flushed: deliveries.flushed,
  }
}

/** Stores a batch with the function `inbox.accept`. Returns one `AcceptedRow`. */
const acceptStatement = `SELECT results, last_before AS "lastBefore", are_ready AS "areReady", array_to_string(given_at, ' ') AS "leasedPlaces",
    array_to_string(given_runs, ' ') AS "leasedRuns", array_to_string(given_claims, ' ') AS "leasedClaims"
  FROM inbox.accept($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
  $8::integer[], $9::text[], $10::bytea[], $11::text[], $12::integer[], $13::text[], $14::text[],
  $15::bigint, $16::text[], $17::integer[], $18::text[], $19::integer[], $20::integer[],
  $21::text[], $22::text[], $23::bigint[], $24::integer[], $25::text[])`

export interface AcceptedRow {
  /** One letter per delivery, see `resultOfCode`. Null if the definitions have changed and nothing was stored. */
  readonly results: string | null
  readonly lastBefore: number
  /** True if new runs are claimable; null if no event is new. */
  readonly areReady: boolean | null
  /** Runs leased to waiting claims: positions of the runs in the parameters, run ids and claim ids. Null if there are none. */
  readonly leasedPlaces: string | null
  readonly leasedRuns: string | null
  readonly leasedClaims: string | null
}

type StoredRow = AcceptedRow & { readonly results: string }

/** A run that a new event gets. */
export interface PlannedRun {
  /** Position of its event in the batch, from 1. */
  readonly at: number
  readonly handler: string
  /** Null: the run has no key. */
  readonly key: string | null
}

interface AcceptContext {
  /** Milliseconds since 1970, by the clock that `receivedAt` is from. */
  readonly now: number
  readonly known: Pick<KnownDefinitions, 'version' | 'routesOf'>
  readonly headerSets: Pick<ReturnType<typeof createHeaderSets>, 'knownId' | 'hasRoom'>
  readonly makeOffer: Work['offer']
}

/**
 * The parameters of `acceptStatement` for a batch of at least one delivery. `runs`: its runs if all events are new. `offer`: the claims
 * reserved for them; null if there are none.
 */
function acceptValues(batch: readonly IncomingDelivery[], { now, known, headerSets, makeOffer }: AcceptContext) {
  const seen = new Set<string>()
  const others: { at: number; id: string; reason: string | null }[] = []
  const runs = createRunList()
  const newHeaders: (string | null)[] = []
  const sets: (number | null)[] = []
  const ids = batch.map((delivery, index) => {
    const isEvent = delivery.kind === 'event'
    const headers = isEvent ? (delivery.headers ?? null) : null
    const set = headerSets.knownId(headers)
    sets.push(set)
    newHeaders.push(set === null && headerSets.hasRoom() ? headers : null)
    const { id } = delivery
    if (!isEvent || seen.has(id)) {
      others.push({ at: index + 1, id, reason: isEvent ? null : delivery.reason })
      return null
    }
    seen.add(id)
    const keyFor = createRouteKeys(delivery, () => delivery.raw)
    for (const route of known.routesOf(delivery)) runs.add(index + 1, route.name, keyFor(route))
    return id
  })
  const hasNewHeaders = newHeaders.some((headers) => headers !== null)
  const ofEvents = (text: (event: IncomingDelivery & { kind: 'event' }) => string | null) =>
    textArray(batch.map((delivery) => (delivery.kind === 'event' ? text(delivery) : null)))

  const stored = [
    textArray(ids),
    ofEvents(({ type }) => type),
    ofEvents(({ createdAt }) => createdAt),
    bigintArray(batch.map(({ receivedAt }) => receivedAt)),
    bigintArray(batch.map(({ receivedAt }) => now - receivedAt)),
    ofEvents(({ id, key }) => (key === id ? null : key)),
    textArray(batch.map(({ secretLabel }) => secretLabel)),
    integerArray(sets),
    ofEvents(({ trace }) => trace ?? null),
    byteArray(batch.map(({ raw }) => raw)),
    hasNewHeaders ? textArray(newHeaders) : null,
    integerArray(others.map(({ at }) => at)),
    textArray(others.map(({ id }) => id)),
    textArray(others.map(({ reason }) => reason)),
    known.version,
    ...runs.values(),
  ]
  // Last, because an error after this would leave the claims reserved.
  const offer = makeOffer(runs.handlers())
  const claims = offer?.claims ?? []
  const values = [
    ...stored,
    textArray(claims.map(({ handlers }) => handlers[0] ?? null)),
    textArray(claims.map(({ owner }) => owner)),
    bigintArray(claims.map(({ id }) => id)),
    integerArray(claims.map(({ max }) => max)),
    batch.some((delivery) => delivery.kind === 'event' && typeof delivery.stableDigest === 'string')
      ? ofEvents(({ stableDigest }) => stableDigest ?? null)
      : null,
  ]
  return { values, hasNewHeaders, runs: runs.planned, offer }
}

/** Collects the runs of a batch. Runs with the same handler and key share a slot, also with no key. */
function createRunList() {
  const handlers = new Map<string, { readonly place: number; readonly slots: Map<string | null, number> }>()
  const slotHandlers: number[] = []
  const slotKeys: (string | null)[] = []
  const planned: PlannedRun[] = []
  const runSlots: number[] = []

  function slotOf(name: string, key: string | null): number {
    let handler = handlers.get(name)
    if (handler === undefined) {
      handler = { place: handlers.size + 1, slots: new Map() }
      handlers.set(name, handler)
    }
    const known = handler.slots.get(key)
    if (known !== undefined) return known
    slotHandlers.push(handler.place)
    slotKeys.push(key)
    handler.slots.set(key, slotHandlers.length)
    return slotHandlers.length
  }

  return {
    add(at: number, handler: string, key: string | null): void {
      runSlots.push(slotOf(handler, key))
      planned.push({ at, handler, key })
    },
    planned: planned as readonly PlannedRun[],
    handlers: () => [...handlers.keys()],
    values: () => [
      textArray([...handlers.keys()]),
      integerArray(slotHandlers),
      textArray(slotKeys),
      integerArray(planned.map(({ at }) => at)),
      integerArray(runSlots),
    ],
  }
}

/** The leases that accept gave to waiting claims, by claim id. */
function directLeases(
  batch: readonly IncomingDelivery[],
  runs: readonly PlannedRun[],
  row: StoredRow,
): ReadonlyMap<number, readonly Lease[]> {
  const leases = new Map<number, Lease[]>()
  const places = numbersIn(row.leasedPlaces)
  if (places.length === 0) return leases
  const runIds = numbersIn(row.leasedRuns)
  const claimIds = numbersIn(row.leasedClaims)
  const seqs = seqsOf(row)
  for (const [index, place] of places.entries()) {
    const run = runs[place - 1]
    const event = run && batch[run.at - 1]
    if (run === undefined || event?.kind !== 'event') continue
    const claimId = claimIds[index] ?? 0
    const lease = toLease(run, event, runIds[index] ?? 0, seqs[run.at - 1] ?? 0)
    const earlier = leases.get(claimId)
    if (earlier === undefined) leases.set(claimId, [lease])
    else earlier.push(lease)
  }
  return leases
}

/** Accept-sequence numbers by position in the batch; null for deliveries that were not accepted. */
function seqsOf({ results, lastBefore }: Pick<StoredRow, 'results' | 'lastBefore'>): (number | null)[] {
  let last = lastBefore
  return Array.from(results, (code) => (code === 'a' ? ++last : null))
}

function toLease({ handler, key }: PlannedRun, event: NewEvent, runId: number, seq: number): Lease {
  const { id, type, createdAt, receivedAt, key: eventKey, secretLabel, raw, trace = null } = event
  // Each handler gets its own copy of the body, because handlers may change it.
  return {
    runId,
    token: 1,
    handler,
    attempt: 1,
    failed: 0,
    crashed: 0,
    event: { seq, id, type, createdAt, receivedAt, key: eventKey, secretLabel, raw: Buffer.from(raw), trace },
    key,
    replay: null,
    item: null,
  }
}

/** Cache of the stored sets of delivery headers. */
function createHeaderSets() {
  const ids = new Map<string, number>()
  let lastId = 0
  return {
    /** Id of a known set; null for no headers or an unknown set. */
    knownId: (headers: string | null) => (headers === null ? null : (ids.get(headers) ?? null)),
    /** True if more sets may be stored. */
    hasRoom: () => ids.size < maxHeaderSets,
    /** Reads the sets added since, by any process. */
    async learn(rows: Rows): Promise<void> {
      const added = await rows.query<{ id: number; headers: string }>(
        `SELECT id, headers FROM inbox.header_set WHERE id > $1 ORDER BY id`,
        [lastId],
      )
      for (const { id, headers } of added) ids.set(headers, id)
      lastId = added.at(-1)?.id ?? lastId
    },
  }
}
