import type { Arrival, HandlerRoute } from '../port.ts'
import { createRouteKeys } from '../route-key.ts'
import type { RouteTable } from '../routes.ts'
import { bigintArray, booleanArray, byteArray, integerArray, textArray } from './arrays.ts'
import type { HeaderSets } from './header-sets.ts'
import { toStored, toStoredOrNull } from './text.ts'

/** Stores a batch; its one row has `results`, a letter for each arrival: see the function. */
export const acceptStatement = `SELECT inbox.accept($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::integer[],
  $8::text[], $9::bytea[], $10::text[], $11::integer[], $12::text[], $13::text[],
  $14::text[], $15::boolean[], $16::integer[], $17::text[], $18::integer[], $19::integer[], $20::bigint) AS results`

interface Given {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly routesOf: RouteTable
  readonly headerSets: Pick<HeaderSets, 'knownId' | 'hasRoom'>
}

/** The parameters of `acceptStatement` for a batch, which has at least one arrival; and whether headers are in it that are not known. */
export function acceptValues(batch: readonly Arrival[], { now, routesOf, headerSets }: Given) {
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

  const values = [
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
    now,
  ]
  return { values, hasNewHeaders }
}

/** The runs of a batch. Runs of one handler and key share a slot; so do those of one handler that have none. */
function createRunList() {
  const handlers = new Map<HandlerRoute, { readonly place: number; readonly slots: Map<string | null, number> }>()
  const slotHandlers: number[] = []
  const slotKeys: (string | null)[] = []
  const runAt: number[] = []
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
      runAt.push(at)
    },
    values: () => [
      textArray([...handlers.keys()].map(({ name }) => toStored(name))),
      booleanArray([...handlers.keys()].map(({ latestOnly }) => latestOnly ?? false)),
      integerArray(slotHandlers),
      textArray(slotKeys),
      integerArray(runAt),
      integerArray(runSlots),
    ],
  }
}
