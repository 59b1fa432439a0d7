import { createContext, useContext, useEffect, useMemo, useState } from 'react'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import type { OverviewJson } from '../contract.ts'

/** What the frame knows of the whole. */
export interface KnownOverview {
  /** Kept new by the stream; null until it is known. */
  readonly overview: OverviewJson | null
  readonly error: Error | null
  readonly reload: () => void
}

export const OverviewContext = createContext<KnownOverview>({ overview: null, error: null, reload() {} })

/** The overview for its own page. What is known already may be from long ago, its time at least, so it is asked for anew. */
export function useFreshOverview(): KnownOverview {
  const known = useContext(OverviewContext)
  // Once, when the page opens: while nothing is known the frame asks.
  useEffect(() => {
    if (known.overview !== null) known.reload()
  }, [])
  return known
}

/** Asks for the overview once, again after a break of the stream, and takes what the stream tells of it. */
export function useOwnOverview(): KnownOverview {
  const { data, error, reload } = useApi<OverviewJson>('/overview')
  const [newest, setNewest] = useState<OverviewJson | null>(null)
  useEffect(() => setNewest(data), [data])
  useStream<OverviewJson>('overview', setNewest)
  useStreamState(reload)
  return useMemo(() => ({ overview: newest, error, reload }), [newest, error, reload])
}
