import { useCallback, useEffect, useRef } from 'react'

/** `fn` at most once in `ms`, and a last time after the last call: for what is set off by a stream. */
export function useThrottled(fn: () => void, ms: number): () => void {
  const newest = useRef(fn)
  const timer = useRef<number | null>(null)
  useEffect(() => {
    newest.current = fn
  })
  useEffect(
    () => () => {
      if (timer.current !== null) window.clearTimeout(timer.current)
      timer.current = null
    },
    [],
  )
  return useCallback(() => {
    timer.current ??= window.setTimeout(() => {
      timer.current = null
      newest.current()
    }, ms)
  }, [ms])
}
