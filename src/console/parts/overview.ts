import { createContext, useContext, useEffect, useState } from 'react'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import type { OverviewJson } from '../contract.ts'

/** What the frame knows of the whole, kept new by the stream; null until it is known. */
export const OverviewContext = createContext<OverviewJson | null>(null)

export function useOverview(): OverviewJson | null {
  return useContext(OverviewContext)
}

/** Asks for the overview once, again after a break of the stream, and takes what the stream tells of it. */
export function useOwnOverview(): OverviewJson | null {
  const { data, reload } = useApi<OverviewJson>('/overview')
  const [newest, setNewest] = useState<OverviewJson | null>(null)
  useEffect(() => setNewest(data), [data])
  useStream<OverviewJson>('overview', setNewest)
  useStreamState(reload)
  return newest
}
