import { InboxError } from '../base/errors.ts'
import {
  maxReplayIds,
  replayStates,
  sourceOf,
  type EventStatus,
  type EventSummary,
  type HandlerRoute,
  type ReplayFilter,
  type ReplayRecord,
  type StoredEvent,
} from './port.ts'

/** The fields of a stored event that a filter compares. `status` is lazy, because it has to read the runs. */
export interface FilteredEvent
  extends Pick<EventSummary, 'id' | 'type' | 'network' | 'address' | 'receivedAt'>, Pick<StoredEvent, 'secretLabel'> {
  readonly status: () => EventStatus
}

/** Throws `bad_request` for an empty filter, which would replay all events, and for too many ids. */
export function checkReplayFilter(filter: ReplayFilter): void {
  const conditions = Object.values(filter).filter((value) => value !== undefined)
  if (conditions.length === 0) {
    throw new InboxError(
      'bad_request',
      'a replay needs a filter: expected at least one of ids, source, type, network, address, status, from, to, handler',
    )
  }
  if (filter.ids !== undefined && filter.ids.length > maxReplayIds) {
    throw new InboxError('bad_request', `expected at most ${maxReplayIds} ids, received ${filter.ids.length}`)
  }
}

/** Routes of an event that get a run of it: all, or only the filter's handler; null if that handler doesn't take the event. */
export function replayedRoutes(
  all: readonly HandlerRoute[],
  { handler }: Pick<ReplayFilter, 'handler'>,
): readonly HandlerRoute[] | null {
  const routes = handler === undefined ? all : all.filter(({ name }) => name === handler)
  return routes.length === 0 && handler !== undefined ? null : routes
}

/** Compares all members of the filter except `handler`. */
export function matchesFilter(filter: ReplayFilter, event: FilteredEvent): boolean {
  const { ids, source, type, network, address, status, from, to } = filter
  return (
    (ids === undefined || ids.includes(event.id)) &&
    (source === undefined || sourceOf(event) === source) &&
    (type === undefined || event.type === type) &&
    (network === undefined || event.network === network) &&
    (address === undefined || event.address === address) &&
    (from === undefined || event.receivedAt >= from) &&
    (to === undefined || event.receivedAt < to) &&
    (status === undefined || event.status() === status)
  )
}

/** Splits a key `network:address`. Both are null when the key is the event's own id, and for keys of `keyOfSource`. */
export function partsOfKey(key: string | null): { readonly network: string | null; readonly address: string | null } {
  const colon = key?.indexOf(':') ?? -1
  if (key === null || colon <= 0) return { network: null, address: null }
  return { network: key.slice(0, colon), address: key.slice(colon + 1) }
}

/** The fields of an event that replays and backfills read. */
export interface ScannedEvent extends Pick<StoredEvent, 'seq' | 'id' | 'type' | 'receivedAt' | 'secretLabel'> {
  /** `network:address`; null if the key is the event's own id. */
  readonly key: string | null
  /** Index in `eventStatuses`, set when the event is pruned; null before. */
  readonly finalStatus: number | null
}

/** A row of the table `replay`. `Flag`: the store's type for booleans. */
export interface ReplayRow<Flag> extends Omit<
  ReplayRecord,
  'filter' | 'newKeys' | 'state' | 'scannedSeq' | 'openRuns'
> {
  /** JSON of a `ReplayFilter`. */
  readonly filter: string
  readonly newKeys: Flag
  /** The index of its name in `replayStates`. */
  readonly state: number
  readonly nextSeq: number
}

export function toReplayRecord({ nextSeq, state, filter, ...row }: ReplayRow<boolean>, openRuns: number): ReplayRecord {
  return {
    ...row,
    filter: JSON.parse(filter) as ReplayFilter,
    state: replayStates[state] ?? 'done',
    scannedSeq: Math.min(nextSeq - 1, row.lastSeq),
    openRuns,
  }
}
