import { InboxError } from '../base/errors.ts'
import { maxReplayIds, type EventStatus, type ReplayFilter, replayStates, type ReplayRecord } from './port.ts'

/** A stored event as a filter looks at it; its status is derived only if it is asked for. */
export interface FilteredEvent {
  readonly id: string
  readonly type: string
  readonly network: string | null
  readonly address: string | null
  readonly receivedAt: number
  readonly status: () => EventStatus
}

/** Throws `bad_request` where nothing is given to choose events by, so that nobody replays everything by mistake. */
export function checkReplayFilter(filter: ReplayFilter): void {
  const given = Object.values(filter).filter((value) => value !== undefined)
  if (given.length === 0) {
    throw new InboxError(
      'bad_request',
      'a replay of everything was not asked for in so many words: expected at least one of ids, type, network, address, ' +
        'status, from, to, handler',
    )
  }
  if (filter.ids !== undefined && filter.ids.length > maxReplayIds) {
    throw new InboxError('bad_request', `expected at most ${maxReplayIds} ids, received ${filter.ids.length}`)
  }
}

/** All but `handler`, which is not a matter of the event. */
export function matchesFilter(filter: ReplayFilter, event: FilteredEvent): boolean {
  const { ids, type, network, address, status, from, to } = filter
  return (
    (ids === undefined || ids.includes(event.id)) &&
    (type === undefined || event.type === type) &&
    (network === undefined || event.network === network) &&
    (address === undefined || event.address === address) &&
    (from === undefined || event.receivedAt >= from) &&
    (to === undefined || event.receivedAt < to) &&
    (status === undefined || event.status() === status)
  )
}

/** `network:address`, or nothing where the key is the event's own id. */
export function partsOfKey(key: string | null): { readonly network: string | null; readonly address: string | null } {
  const colon = key?.indexOf(':') ?? -1
  if (key === null || colon < 0) return { network: null, address: null }
  return { network: key.slice(0, colon), address: key.slice(colon + 1) }
}

/** A replay as a table has it. `Flag`: what the store has for yes and no. */
export interface ReplayRow<Flag> {
  readonly id: number
  /** JSON */
  readonly filter: string
  readonly perSecond: number | null
  readonly newKeys: Flag
  /** The index of its name in `replayStates`. */
  readonly state: number
  readonly createdAt: number
  readonly endedAt: number | null
  readonly nextSeq: number
  readonly lastSeq: number
  readonly events: number
  readonly runs: number
  readonly skipped: number
}

/** What it shows: `openRuns` as they were counted, and the filter as it was given. */
export function toReplayRecord({ nextSeq, state, filter, ...row }: ReplayRow<boolean>, openRuns: number): ReplayRecord {
  return {
    ...row,
    filter: JSON.parse(filter) as ReplayFilter,
    state: replayStates[state] ?? 'done',
    scannedSeq: Math.min(nextSeq - 1, row.lastSeq),
    openRuns,
  }
}
