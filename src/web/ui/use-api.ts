import { useCallback, useEffect, useRef, useState } from 'react'
import { useApiClient } from './api.ts'

export interface Loaded<T> {
  /** Null until the first answer, and after a change of the path. */
  readonly data: T | null
  readonly error: Error | null
  readonly isLoading: boolean
  /** Asks again; what is there stays until the answer has come. */
  readonly reload: () => void
}

interface Answer<T> {
  readonly path: string | null
  readonly data: T | null
  readonly error: Error | null
}

/** What the server answers to a GET of `path`, asked again when the path changes or `reload` is called; null asks nothing. */
export function useApi<T>(path: string | null): Loaded<T> {
  const api = useApiClient()
  const [answer, setAnswer] = useState<Answer<T>>({ path, data: null, error: null })
  const [isLoading, setLoading] = useState(path !== null)
  const latest = useRef<AbortController | null>(null)

  const reload = useCallback(() => {
    latest.current?.abort()
    if (path === null) return
    const asked = new AbortController()
    latest.current = asked
    setLoading(true)
    const settle = (change: (before: Answer<T>) => Answer<T>) => {
      if (asked.signal.aborted) return
      setAnswer(change)
      setLoading(false)
    }
    api.get<T>(path, asked.signal).then(
      (data) => settle(() => ({ path, data, error: null })),
      (error: Error) => settle((before) => ({ path, data: before.path === path ? before.data : null, error })),
    )
  }, [api, path])

  useEffect(() => {
    reload()
    return () => latest.current?.abort()
  }, [reload])

  const isOfPath = answer.path === path
  return { data: isOfPath ? answer.data : null, error: isOfPath ? answer.error : null, isLoading, reload }
}
