import { useCallback, useEffect, useRef, useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { ChangedToldJson, ListJson } from '../contract.ts'

const refreshMs = 500

interface Known<Row> {
  readonly path: string | null
  /** Null until the first answer. */
  readonly rows: readonly Row[] | null
  readonly next: string | null
  readonly error: Error | null
}

export interface List<Row> extends Pick<Known<Row>, 'rows' | 'error'> {
  readonly hasMore: boolean
  readonly isBusy: boolean
  /** Asks anew for as much as is shown; what is there stays until then. */
  readonly reload: () => void
  readonly loadMore: () => void
}

/** A list that comes in pages. `path` may have a query; null asks nothing. */
export function useList<Row>(path: string | null): List<Row> {
  const api = useApiClient()
  const [known, setKnown] = useState<Known<Row>>({ path, rows: null, next: null, error: null })
  const [isBusy, setBusy] = useState(false)
  const shownPages = useRef(1)
  const latest = useRef<AbortController | null>(null)

  const ask = useCallback(
    async (pages: number, begin: readonly Row[], cursor: string | null) => {
      latest.current?.abort()
      if (path === null) return
      const asked = new AbortController()
      latest.current = asked
      setBusy(true)
      let rows = begin
      let next = cursor
      let error: Error | null = null
      try {
        for (let page = 0; page < pages && (page === 0 || next !== null); page++) {
          const answer = await api.get<ListJson<Row>>(withCursor(path, next), asked.signal)
          rows = [...rows, ...answer.data]
          next = answer.next_cursor
        }
      } catch (thrown) {
        error = thrown instanceof Error ? thrown : new Error(String(thrown))
      }
      if (asked.signal.aborted) return
      setBusy(false)
      setKnown((before) => {
        if (error === null) return { path, rows, next, error }
        return before.path === path ? { ...before, error } : { path, rows: null, next: null, error }
      })
    },
    [api, path],
  )
  const reload = useCallback(() => void ask(shownPages.current, [], null), [ask])

  useEffect(() => {
    shownPages.current = 1
    reload()
    return () => latest.current?.abort()
  }, [reload])

  const isOfPath = known.path === path
  const rows = isOfPath ? known.rows : null
  const { next } = known
  return {
    rows,
    error: isOfPath ? known.error : null,
    hasMore: isOfPath && next !== null,
    isBusy,
    reload,
    loadMore: () => {
      if (rows === null || next === null || isBusy) return
      shownPages.current++
      void ask(1, rows, next)
    },
  }
}

/** Calls `reload` soon after the server said that something of `what` changed, and when its stream is back after a break. */
export function useChanged(what: ChangedToldJson['what'][number], reload: () => void): void {
  const soon = useThrottled(reload, refreshMs)
  useStreamState(reload)
  useStream<ChangedToldJson>('changed', (told) => {
    if (told.what.includes(what)) soon()
  })
}

function withCursor(path: string, cursor: string | null): string {
  if (cursor === null) return path
  return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`
}
