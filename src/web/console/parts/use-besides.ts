import { useEffect, useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { queryOf } from '../api-client.ts'
import type { EventDetailJson, EventListJson } from '../contract.ts'
import { besides } from './event-trail.ts'

export interface Besides {
  /** Ids; null: there is none, or it is not known. */
  readonly newer: string | null
  readonly older: string | null
}

const looked = 200

/** What is beside an event: in the list that was looked at last, and for one that is not in it, among all. */
export function useBesides(event: EventDetailJson | null): Besides {
  const api = useApiClient()
  const [found, setFound] = useState<Besides>({ newer: null, older: null })
  const id = event?.id ?? null
  const at = event?.received_at ?? ''
  useEffect(() => {
    setFound({ newer: null, older: null })
    if (id === null || besides(id).isKnown) return
    const asked = new AbortController()
    const list = (query: object) =>
      api.get<EventListJson>(`/events${queryOf({ ...query, limit: looked })}`, asked.signal)
    const justAfter = new Date(Date.parse(at) + 1).toISOString()
    Promise.all([list({ to: justAfter }), list({ from: at })]).then(
      ([before, after]) => {
        if (asked.signal.aborted) return
        const older = nextTo(before, id, 1)
        // Where so much came after it that the page does not reach down to it, the next one is not known.
        const newer = nextTo(after, id, -1)
        setFound({ newer, older })
      },
      // Without it the page is as good, but for two links.
      () => {},
    )
    return () => asked.abort()
  }, [api, id, at])
  if (id === null) return found
  const { isKnown, newer, older } = besides(id)
  return isKnown ? { newer, older } : found
}

function nextTo({ data }: EventListJson, id: string, step: 1 | -1): string | null {
  const index = data.findIndex((event) => event.id === id)
  return index < 0 ? null : (data[index + step]?.id ?? null)
}
