import { useEffect, useRef, useState } from 'react'

/** Calls `reload` every so often while the page is looked at; null: not at all. */
export function usePoll(ms: number | null, reload: () => void): void {
  const newest = useRef(reload)
  useEffect(() => {
    newest.current = reload
  })
  useEffect(() => {
    if (ms === null) return
    const timer = window.setInterval(() => {
      if (document.visibilityState === 'visible') newest.current()
    }, ms)
    return () => window.clearInterval(timer)
  }, [ms])
}

/** The time of the server by now, from what it said last: milliseconds since 1970. It moves on every five seconds. */
export function useServerNow(said: string): number {
  const [at, setAt] = useState({ said, readAt: performance.now(), now: performance.now() })
  useEffect(() => {
    const readAt = performance.now()
    setAt({ said, readAt, now: readAt })
    const timer = window.setInterval(() => setAt((before) => ({ ...before, now: performance.now() })), 5_000)
    return () => window.clearInterval(timer)
  }, [said])
  return Date.parse(at.said) + at.now - at.readAt
}
