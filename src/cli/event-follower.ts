import type { EventListJson, EventSummaryJson } from '../admin/events.ts'
import type { Query } from '../admin/parse.ts'

/** What a followed event must be. */
export interface EventFilters {
  readonly type?: string
  readonly network?: string
  readonly address?: string
  readonly status?: string
}

export interface EventFollower {
  /** Gives what came since the last look, in the order that it came in. The first look gives nothing. */
  look(): Promise<readonly EventSummaryJson[]>
  /** Whether the store has been replaced since by one with fewer events; says so once. */
  wasReplaced(): boolean
}

const perPage = 200
/** The status of an event changes later on: of so many newest ones it is looked at each time. */
const watched = 1_000

/**
 * Follows the events of a store. Each look reads the list from its newest event back to where the last look was; so it costs what
 * came since, whatever the filters are. With a status those are given that have come to it, of the newest 1,000.
 */
export function createEventFollower(
  listEvents: (query: Query) => Promise<EventListJson>,
  filters: EventFilters,
): EventFollower {
  const isWanted = matcher(filters)
  let last: number | undefined
  let given = new Set<number>()
  let isReplaced = false

  async function readBackTo(floorOf: (newest: number) => number): Promise<readonly EventSummaryJson[]> {
    const found: EventSummaryJson[] = []
    let floor: number | undefined
    for (let cursor: string | undefined; ;) {
      const query = { limit: String(perPage), ...(cursor === undefined ? {} : { cursor }) }
      const { data, next_cursor: next } = await listEvents(query)
      floor ??= floorOf(data[0]?.seq ?? 0)
      for (const event of data) {
        if (event.seq <= floor) return found
        found.push(event)
      }
      if (next === null) return found
      cursor = next
    }
  }

  return {
    async look() {
      const isFirst = last === undefined
      const newer = await readBackTo((newest) => {
        if (last !== undefined && newest < last) isReplaced = true
        const known = Math.min(last ?? newest, newest)
        last = newest
        return filters.status === undefined ? known : Math.min(known, newest - watched)
      })
      const wanted = newer.filter(isWanted)
      const fresh = isFirst ? [] : wanted.filter(({ seq }) => !given.has(seq)).toReversed()
      given = new Set(filters.status === undefined ? [] : wanted.map(({ seq }) => seq))
      return fresh
    },
    wasReplaced() {
      const was = isReplaced
      isReplaced = false
      return was
    },
  }
}

function matcher({ type, network, address, status }: EventFilters): (event: EventSummaryJson) => boolean {
  const wanted = address !== undefined && /^0x[0-9a-fA-F]{40}$/.test(address) ? address.toLowerCase() : address
  return (event) =>
    (type === undefined || event.type === type) &&
    (network === undefined || event.network === network) &&
    (wanted === undefined || event.address === wanted) &&
    (status === undefined || event.status === status)
}
