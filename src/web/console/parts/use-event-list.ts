import { useCallback, useEffect, useRef, useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { EventListJson, EventsToldJson } from '../contract.ts'
import { apiPathOf, type EventFilters } from './event-filters.ts'
import { begun, continued, isOf, pageSize, refreshed, shown, told, type EventRows } from './event-rows.ts'

/** How often what is shown is compared with the server while events come. */
const refreshMs = 5_000

export interface EventListOptions {
  /** The same as long as the component is there. */
  readonly filters: EventFilters
  /** Whether new ones wait until they are asked for. */
  readonly isHeld: boolean
  /** What is known already. */
  readonly initial: EventRows | null
}

export interface EventList {
  /** Null until the first answer. */
  readonly list: EventRows | null
  readonly error: Error | null
  readonly isLoading: boolean
  readonly loadMore: () => void
  readonly reload: () => void
  readonly showFresh: () => void
}

/** Events by filters, page by page, with what comes meanwhile. */
export function useEventList({ filters, isHeld, initial }: EventListOptions): EventList {
  const api = useApiClient()
  const [list, setList] = useState(initial)
  const [error, setError] = useState<Error | null>(null)
  const [isLoading, setLoading] = useState(false)
  const newest = useRef({ filters, isHeld, list })
  newest.current = { filters, isHeld, list }
  /** The load that goes on; null: none does. */
  const asked = useRef<AbortController | null>(null)

  const ask = useCallback(
    (cursor: string | null, signal: AbortSignal) => {
      const page = { limit: pageSize, ...(cursor !== null && { cursor }) }
      return api.get<EventListJson>(apiPathOf(newest.current.filters, Date.now(), page), signal)
    },
    [api],
  )
  const load = useCallback(
    async (cursor: string | null, take: (page: EventListJson) => void) => {
      asked.current?.abort()
      const own = new AbortController()
      asked.current = own
      setLoading(true)
      setError(null)
      try {
        const page = await ask(cursor, own.signal)
        if (!own.signal.aborted) take(page)
      } catch (thrown) {
        if (!own.signal.aborted) setError(thrown as Error)
      }
      if (own.signal.aborted) return
      asked.current = null
      setLoading(false)
    },
    [ask],
  )
  const reload = useCallback(() => void load(null, (page) => setList(begun(page))), [load])
  const loadMore = useCallback(() => {
    const cursor = newest.current.list?.cursor ?? null
    if (cursor === null || asked.current !== null) return
    void load(cursor, (page) => setList((before) => before && continued(before, page)))
  }, [load])
  const refreshNow = useCallback(async () => {
    try {
      const page = await ask(null, new AbortController().signal)
      const held = newest.current.isHeld
      setList((before) => before && refreshed(before, page, newest.current.filters, held))
    } catch {
      // What is shown stays; the next event asks again.
    }
  }, [ask])

  useEffect(() => {
    if (newest.current.list === null) reload()
    else void refreshNow()
    return () => asked.current?.abort()
  }, [reload, refreshNow])

  const refresh = useThrottled(() => void refreshNow(), refreshMs)
  useStream<EventsToldJson>('events', ({ data }) => {
    if (filters.to !== '') return
    const own = data.filter((event) => isOf(filters, event))
    setList((before) => before && told(before, own, isHeld))
    refresh()
  })
  useStreamState(() => (newest.current.list === null ? reload() : void refreshNow()))

  const showFresh = useCallback(() => {
    if (newest.current.list?.hasGap === true) reload()
    else setList((before) => before && shown(before))
  }, [reload])
  const hasFresh = list !== null && (list.fresh.length > 0 || list.hasGap)
  useEffect(() => {
    if (!isHeld && hasFresh) showFresh()
  }, [isHeld, hasFresh, showFresh])

  return { list, error, isLoading, loadMore, reload, showFresh }
}
