import type { Arrival, HandlerRoute } from '../port.ts'
import { createRouteKeys } from '../route-key.ts'
import type { RouteTable } from '../routes.ts'
import { bigintArray, booleanArray, byteArray, integerArray, textArray } from './arrays.ts'
import type { HeaderSets } from './header-sets.ts'
import type { MakeOffer } from './offer.ts'
import { toStored, toStoredOrNull } from './text.ts'

/** Stores a batch; its one row is an `AcceptedRow`: see the function. */
export const acceptStatement = `SELECT results, last_before AS "lastBefore", are_ready AS "areReady", array_to_string(given_at, ' ') AS "givenAt",
    array_to_string(given_runs, ' ') AS "givenRuns", array_to_string(given_claims, ' ') AS "givenClaims"
  FROM inbox.accept($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::integer[],
  $8::text[], $9::bytea[], $10::text[], $11::integer[], $12::text[], $13::text[],
  $14::text[], $15::boolean[], $16::integer[], $17::text[], $18::integer[], $19::integer[],
  $20::text[], $21::text[], $22::bigint[], $23::integer[], $24::bigint)`

export interface AcceptedRow {
  /** A letter for each arrival. */
  readonly results: string
  readonly lastBefore: number
  /** Whether there are new runs to claim; null where nothing is new. */
  readonly areReady: boolean | null
  readonly givenAt: string | null
  readonly givenRuns: string | null
  readonly givenClaims: string | null
}

/** A run of a new event. */
export interface PlannedRun {
  /** The place of its event in the batch, from 1. */
  readonly at: number
  readonly handler: string
  readonly key: string | null
}

interface Given {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly routesOf: RouteTable
  readonly headerSets: Pick<HeaderSets, 'knownId' | 'hasRoom'>
  readonly makeOffer: MakeOffer
}

/**
 * The parameters of `acceptStatement` for a batch, which has at least one arrival; whether headers are in it that are not known; its runs,
 * if all is new, and who they are offered to.
 */
export function acceptValues(batch: readonly Arrival[], { now, routesOf, headerSets, makeOffer }: Given) {
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
    for (const route of routesOf(arrival.type)) runs.add(index + 1, route, keyFor(route))
    return id
  })
  const hasNewHeaders = newHeaders.some((headers) => headers !== null)
  const ofEvents = (text: (event: Arrival & { kind: 'event' }) => string | null) =>
    textArray(batch.map((arrival) => (arrival.kind === 'event' ? toStoredOrNull(text(arrival)) : null)))

  const stored = [
    textArray(ids),
    ofEvents(({ type }) => type),
    ofEvents(({ createdAt }) => createdAt),
    bigintArray(batch.map(({ receivedAt }) => receivedAt)),
    ofEvents(({ id, key }) => (key === id ? null : key)),
    textArray(batch.map(({ secretLabel }) => toStored(secretLabel))),
    integerArray(sets),
    ofEvents(({ trace }) => trace ?? null),
    byteArray(batch.map(({ raw }) => raw)),
    hasNewHeaders ? textArray(newHeaders) : null,
    integerArray(others.map(({ at }) => at)),
    textArray(others.map(({ id }) => id)),
    textArray(others.map(({ reason }) => reason)),
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
    now,
  ]
  return { values, hasNewHeaders, runs: runs.planned, offer }
}

/** The runs of a batch. Runs of one handler and key share a slot; so do those of one handler that have none. */
function createRunList() {
  const handlers = new Map<HandlerRoute, { readonly place: number; readonly slots: Map<string | null, number> }>()
  const slotHandlers: number[] = []
  const slotKeys: (string | null)[] = []
  const planned: PlannedRun[] = []
  const runSlots: number[] = []

  function slotOf(route: HandlerRoute, key: string | null): number {
    let handler = handlers.get(route)
    if (handler === undefined) {
      handler = { place: handlers.size + 1, slots: new Map() }
      handlers.set(route, handler)
    }
    const known = handler.slots.get(key)
    if (known !== undefined) return known
    slotHandlers.push(handler.place)
    slotKeys.push(toStoredOrNull(key))
    handler.slots.set(key, slotHandlers.length)
    return slotHandlers.length
  }

  return {
    add(at: number, route: HandlerRoute, key: string | null): void {
      runSlots.push(slotOf(route, key))
      planned.push({ at, handler: route.name, key })
    },
    planned: planned as readonly PlannedRun[],
    handlers: () => [...handlers.keys()].map(({ name }) => name),
    values: () => [
      textArray([...handlers.keys()].map(({ name }) => toStored(name))),
      booleanArray([...handlers.keys()].map(({ latestOnly }) => latestOnly ?? false)),
      integerArray(slotHandlers),
      textArray(slotKeys),
      integerArray(planned.map(({ at }) => at)),
      integerArray(runSlots),
    ],
  }
}
