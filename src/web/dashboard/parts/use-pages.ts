import { useEffect, useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'

const pageSize = 100

/** A list whose items have a number that the next page goes on after. `path` may have a query; null asks nothing. */
export function usePages<Row extends { readonly seq: number }>(path: string | null) {
  const api = useApiClient()
  const at = (after: number) => `${path}${path?.includes('?') ? '&' : '?'}limit=${pageSize}&after=${after}`
  const first = useApi<readonly Row[]>(path === null ? null : at(0))
  const [more, setMore] = useState<readonly (readonly Row[])[]>([])
  const { run, isBusy, error } = useAct()
  useEffect(() => setMore([]), [first.data])

  const pages = first.data === null ? [] : [first.data, ...more]
  const last = pages.at(-1)
  const lastRow = last?.at(-1)
  const loadMore = () =>
    void run(async () => {
      if (lastRow === undefined) return
      const next = await api.get<readonly Row[]>(at(lastRow.seq))
      setMore((before) => [...before, next])
    })

  return {
    rows: first.data === null ? null : pages.flat(),
    error: first.error,
    reload: first.reload,
    hasMore: last?.length === pageSize,
    loadMore,
    isLoadingMore: isBusy,
    moreError: error,
  }
}
