import { useCallback, useEffect, useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import { queryOf } from '../api-client.ts'
import type { AttemptNews, Delivery } from '../contract.ts'
import { isOfState, mergeNewest, withNews, type DeliveryFilter } from './delivery-list.ts'

const pageSize = 100
const refreshMs = 1_000

/** Deliveries of a filter, newest first, kept up to date while they are looked at; older ones when they are asked for. */
export function useDeliveries(filter: DeliveryFilter) {
  const api = useApiClient()
  const { state, type, endpoint } = filter
  const query = useCallback(
    (after?: string) => `/deliveries${queryOf({ state, type, endpoint, limit: pageSize, after })}`,
    [state, type, endpoint],
  )
  const newest = useApi<readonly Delivery[]>(query())
  const [rows, setRows] = useState<readonly Delivery[] | null>(null)
  /** How many are wanted: more after each load of older ones. */
  const [wanted, setWanted] = useState(pageSize)
  const [hasOlder, setHasOlder] = useState(false)

  useEffect(() => {
    setRows(null)
    setWanted(pageSize)
  }, [query])

  useEffect(() => {
    const { data } = newest
    if (data === null) return
    setRows((before) => mergeNewest(before ?? [], data).slice(0, Math.max(wanted, data.length)))
    if (wanted === pageSize) setHasOlder(data.length === pageSize)
  }, [newest.data, wanted])

  const refresh = useThrottled(newest.reload, refreshMs)
  useStreamState(newest.reload)
  useStream<AttemptNews>('attempt', (news) => {
    setRows((before) => before && before.map((row) => withNews(row, news)).filter((row) => isOfState(row, state)))
    refresh()
  })

  async function loadOlder(): Promise<void> {
    const last = rows?.at(-1)
    if (last === undefined) return
    const older = await api.get<readonly Delivery[]>(query(last.deliveryId))
    setWanted((before) => before + older.length)
    setHasOlder(older.length === pageSize)
    setRows((before) => [...(before ?? []), ...older])
  }

  return { rows, error: newest.error, reload: newest.reload, hasOlder, loadOlder }
}
