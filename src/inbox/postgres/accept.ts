import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import type { AcceptResult, IncomingDelivery, NewEvent, Lease } from '../port.ts'
import type { Database, Rows } from './database.ts'
import type { Definitions, KnownDefinitions } from './definitions.ts'
import type { Gaps } from './gaps.ts'
import { createRouteKeys } from '../route-key.ts'
import { bigintArray, byteArray, integerArray, textArray, numbersIn } from './database.ts'
import { toStored, toStoredOrNull } from './text.ts'
import type { KnownClaim } from './leases.ts'
import { mostHeaderSets } from './functions/accept.ts'

export interface AcceptOptions {
  readonly db: Database
  readonly clock: Clock
  readonly definitions: Pick<Definitions, 'known' | 'read'>
  readonly gaps: Pick<Gaps, 'arrived'>
  /** Who new runs can be given to at once. */
  readonly makeOffer: MakeOffer
  /** There are new runs that nobody was given. */
  readonly wake: () => void
}

export interface Accept {
  /** As the port says. Throws `store_full`, `store_unavailable` or `shutting_down`. */
  accept(batch: readonly IncomingDelivery[]): Promise<readonly AcceptResult[]>
  /** The same with one event, as a part of a transaction. What is told of it after its commit is left out. */
  acceptIn(trx: Rows, event: NewEvent): Promise<AcceptResult>
  /** Resolves when no call is under way. */
  ended(): Promise<void>
}

interface Call {
  readonly batch: readonly IncomingDelivery[]
  readonly resolve: (results: readonly AcceptResult[]) => void
  readonly reject: (error: unknown) => void
}

const results: Readonly<Record<string, AcceptResult>> = {
  a: 'accepted',
  d: 'duplicate',
  c: 'conflict',
  q: 'quarantined',
}

/** One call may have more: what is given as one is committed as one. */
const mostArrivals = 1_000
const mostBytes = 8 * 1024 * 1024
/** A claim is not given more at once. */
const mostGivenBytes = 4 * 1024 * 1024

const nobody: MakeOffer = () => null
const bytesOf = (batch: readonly IncomingDelivery[]) => batch.reduce((sum, { raw }) => sum + raw.length, 0)

/**
 * Group commit: what gathers while a statement is under way goes into the next one. So calls keep their order; and two statements of one
 * process would only wait for each other, at the counter.
 */
export function createAccept({ db, clock, definitions, gaps, makeOffer, wake }: AcceptOptions): Accept {
  const headerSets = createHeaderSets()
  const waiting: Call[] = []
  let underWay: Promise<void> | undefined

  async function store(rows: Rows, batch: readonly IncomingDelivery[], toWhom: MakeOffer): Promise<AcceptResult[]> {
    let known = await definitions.known(rows)
    for (;;) {
      const results = await storeBy(known, rows, batch, toWhom)
      if (results !== null) return results
      known = await definitions.read(rows)
    }
  }

  /** Null: the definitions have changed, and nothing was stored. */
  async function storeBy(
    known: KnownDefinitions,
    rows: Rows,
    batch: readonly IncomingDelivery[],
    toWhom: MakeOffer,
  ): Promise<AcceptResult[] | null> {
    const given = { now: clock.now(), known, headerSets, makeOffer: toWhom }
    const { values, hasNewHeaders, runs, offer } = acceptValues(batch, given)
    let row: AcceptedRow | undefined
    try {
      ;[row] = await rows.query<AcceptedRow>(acceptStatement, values)
    } catch (error) {
      // What the server says of it was undone.
      if (error instanceof InboxError && error.code === 'store_unavailable') offer?.lose()
      else offer?.end(new Map())
      throw error
    }
    if (row === undefined) throw new InboxError('internal', 'accept gave no row')
    const { results: letters } = row
    offer?.end(letters === null ? new Map() : givenLeases(batch, runs, { ...row, results: letters }))
    if (letters === null) return null
    if (row.areReady === true) wake()
    if (hasNewHeaders) await headerSets.learn(rows)
    return Array.from(letters, (letter, index) => {
      const result = results[letter]
      if (result === undefined)
        throw new InboxError('internal', `arrival ${index} became ${JSON.stringify(letter)}, which means nothing`)
      return result
    })
  }

  async function commit(batch: readonly IncomingDelivery[]): Promise<AcceptResult[]> {
    const became = await store(db, batch, bytesOf(batch) > mostGivenBytes ? nobody : makeOffer)
    for (const [index, arrival] of batch.entries()) {
      if (arrival.kind === 'event' && became[index] === 'accepted') gaps.arrived(arrival)
    }
    return became
  }

  async function commitCalls(calls: readonly Call[]): Promise<void> {
    try {
      const became = await commit(calls.flatMap(({ batch }) => batch))
      let from = 0
      for (const { batch, resolve } of calls) resolve(became.slice(from, (from += batch.length)))
    } catch (error) {
      // What throws for another reason than the database throws for one of the calls only.
      if (calls.length > 1 && !(error instanceof InboxError)) for (const call of calls) await commitCalls([call])
      else for (const { reject } of calls) reject(error)
    }
  }

  /** The calls that go into one statement, in the order in which they came. */
  function take(): Call[] {
    let [count, arrivals, bytes] = [0, 0, 0]
    for (const { batch } of waiting) {
      arrivals += batch.length
      bytes += bytesOf(batch)
      if (count > 0 && (arrivals > mostArrivals || bytes > mostBytes)) break
      count++
    }
    return waiting.splice(0, count)
  }

  async function commitAll(): Promise<void> {
    while (waiting.length > 0) await commitCalls(take())
    underWay = undefined
  }

  return {
    accept(batch) {
      if (batch.length === 0) return Promise.resolve([])
      return new Promise((resolve, reject) => {
        waiting.push({ batch, resolve, reject })
        underWay ??= commitAll()
      })
    },
    async acceptIn(trx, event) {
      const [result] = await store(trx, [event], nobody)
      if (result === undefined)
        throw new InboxError('internal', `nothing was said of the event ${JSON.stringify(event.id)}`)
      return result
    },
    ended: async () => underWay,
  }
}

/** Stores a batch; its one row is an `AcceptedRow`: see the function. */
export const acceptStatement = `SELECT results, last_before AS "lastBefore", are_ready AS "areReady", array_to_string(given_at, ' ') AS "givenAt",
    array_to_string(given_runs, ' ') AS "givenRuns", array_to_string(given_claims, ' ') AS "givenClaims"
  FROM inbox.accept($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
  $8::integer[], $9::text[], $10::bytea[], $11::text[], $12::integer[], $13::text[], $14::text[],
  $15::bigint, $16::text[], $17::integer[], $18::text[], $19::integer[], $20::integer[],
  $21::text[], $22::text[], $23::bigint[], $24::integer[])`

export interface AcceptedRow {
  /** A letter for each arrival; null: the definitions have another version, and nothing was stored. */
  readonly results: string | null
  readonly lastBefore: number
  /** Whether there are new runs to claim; null where nothing is new. */
  readonly areReady: boolean | null
  readonly givenAt: string | null
  readonly givenRuns: string | null
  readonly givenClaims: string | null
}

type StoredRow = AcceptedRow & { readonly results: string }

/** A run of a new event. */
export interface PlannedRun {
  /** The place of its event in the batch, from 1. */
  readonly at: number
  readonly handler: string
  readonly key: string | null
}

interface Given {
  /** By the clock that arrivals were received by, in milliseconds since 1970. */
  readonly now: number
  readonly known: Pick<KnownDefinitions, 'version' | 'routesOf'>
  readonly headerSets: Pick<HeaderSets, 'knownId' | 'hasRoom'>
  readonly makeOffer: MakeOffer
}

/**
 * The parameters of `acceptStatement` for a batch, which has at least one arrival; whether headers are in it that are not known; its runs,
 * if all is new, and who they are offered to.
 */
export function acceptValues(batch: readonly IncomingDelivery[], { now, known, headerSets, makeOffer }: Given) {
  const seen = new Set<string>()
  const others: { at: number; id: string; reason: string | null }[] = []
  const runs = createRunList()
  const newHeaders: (string | null)[] = []
  const sets: (number | null)[] = []
  const ids = batch.map((arrival, index) => {
    const isEvent = arrival.kind === 'event'
    const headers = isEvent ? toStoredOrNull(arrival.headers ?? null) : null
    const set = headerSets.knownId(headers)
    sets.push(set)
    newHeaders.push(set === null && headerSets.hasRoom() ? headers : null)
    const id = toStored(arrival.id)
    if (!isEvent || seen.has(id)) {
      others.push({ at: index + 1, id, reason: isEvent ? null : toStored(arrival.reason) })
      return null
    }
    seen.add(id)
    const keyFor = createRouteKeys({ id: arrival.id, key: arrival.key, raw: () => arrival.raw })
    for (const route of known.routesOf(arrival.type)) runs.add(index + 1, route.name, keyFor(route))
    return id
  })
  const hasNewHeaders = newHeaders.some((headers) => headers !== null)
  const ofEvents = (text: (event: IncomingDelivery & { kind: 'event' }) => string | null) =>
    textArray(batch.map((arrival) => (arrival.kind === 'event' ? toStoredOrNull(text(arrival)) : null)))

  const stored = [
    textArray(ids),
    ofEvents(({ type }) => type),
    ofEvents(({ createdAt }) => createdAt),
    bigintArray(batch.map(({ receivedAt }) => receivedAt)),
    bigintArray(batch.map(({ receivedAt }) => now - receivedAt)),
    ofEvents(({ id, key }) => (key === id ? null : key)),
    textArray(batch.map(({ secretLabel }) => toStored(secretLabel))),
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
  // Last: from here on nothing fails that would leave the claims with nobody.
  const offer = makeOffer(runs.handlers())
  const claims = offer?.claims ?? []
  const values = [
    ...stored,
    textArray(claims.map(({ handlers }) => toStoredOrNull(handlers[0] ?? null))),
    textArray(claims.map(({ owner }) => toStored(owner))),
    bigintArray(claims.map(({ id }) => id)),
    integerArray(claims.map(({ max }) => max)),
  ]
  return { values, hasNewHeaders, runs: runs.planned, offer }
}

/** The runs of a batch. Runs of one handler and key share a slot; so do those of one handler that have none. */
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
    slotKeys.push(toStoredOrNull(key))
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
      textArray([...handlers.keys()].map((name) => toStored(name))),
      integerArray(slotHandlers),
      textArray(slotKeys),
      integerArray(planned.map(({ at }) => at)),
      integerArray(runSlots),
    ],
  }
}

/**
 * Claims of this replica that wait, of what there is no backlog of. What is accepted next can be theirs at once: in the transaction that
 * stores it, and without being read back.
 */
export interface Offer {
  /** Each of one handler. */
  readonly claims: readonly KnownClaim[]
  /** What they got, by their ids; those that are not there got nothing, and wait on. */
  end(given: ReadonlyMap<number, readonly Lease[]>): void
  /** They may have got something, but nobody knows what. */
  lose(): void
}

/** Gives the claims that new runs of these handlers can be offered to; null if there are none. It has to be ended, or lost. */
export type MakeOffer = (handlers: readonly string[]) => Offer | null

/** The leases that an accept gave to claims, by the ids of the claims: what they carry is what was accepted. */
function givenLeases(
  batch: readonly IncomingDelivery[],
  runs: readonly PlannedRun[],
  row: StoredRow,
): ReadonlyMap<number, readonly Lease[]> {
  const leases = new Map<number, Lease[]>()
  const places = numbersIn(row.givenAt)
  if (places.length === 0) return leases
  const runIds = numbersIn(row.givenRuns)
  const claimIds = numbersIn(row.givenClaims)
  const seqs = seqsOf(row)
  for (const [index, place] of places.entries()) {
    const run = runs[place - 1]
    const event = run && batch[run.at - 1]
    if (run === undefined || event?.kind !== 'event') continue
    const claimId = claimIds[index] ?? 0
    const mine = leases.get(claimId) ?? []
    mine.push(toLease(run, event, runIds[index] ?? 0, seqs[run.at - 1] ?? 0))
    leases.set(claimId, mine)
  }
  return leases
}

/** The numbers of what was accepted, by its place in the batch. */
function seqsOf({ results, lastBefore }: Pick<StoredRow, 'results' | 'lastBefore'>): (number | null)[] {
  let last = lastBefore
  return Array.from(results, (letter) => (letter === 'a' ? ++last : null))
}

function toLease({ handler, key }: PlannedRun, event: NewEvent, runId: number, seq: number): Lease {
  const { id, type, createdAt, receivedAt, key: eventKey, secretLabel, raw, trace = null } = event
  // Handlers may do with it what they like, and each has its own.
  const own = Buffer.from(raw)
  return {
    runId,
    token: 1,
    handler,
    attempt: 1,
    failed: 0,
    crashed: 0,
    event: { seq, id, type, createdAt, receivedAt, key: eventKey, secretLabel, raw: own, trace },
    key,
    replay: null,
    item: null,
  }
}

/** The sets of headers that events came with, as far as they are known here: each is stored once. */
export interface HeaderSets {
  /** The id of a set that is known (its text as stored); null if there is none, or it is not. */
  knownId(headers: string | null): number | null
  /** Whether a set that is not known may still be kept. */
  hasRoom(): boolean
  /** Learns what was added since, by this process or another. */
  learn(rows: Rows): Promise<void>
}

function createHeaderSets(): HeaderSets {
  const ids = new Map<string, number>()
  let lastId = 0
  return {
    knownId: (headers) => (headers === null ? null : (ids.get(headers) ?? null)),
    hasRoom: () => ids.size < mostHeaderSets,
    async learn(rows) {
      const added = await rows.query<{ id: number; headers: string }>(
        `SELECT id, headers FROM inbox.header_set WHERE id > $1 ORDER BY id`,
        [lastId],
      )
      for (const { id, headers } of added) ids.set(headers, id)
      lastId = added.at(-1)?.id ?? lastId
    },
  }
}
