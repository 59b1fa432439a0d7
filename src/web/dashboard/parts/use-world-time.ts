import { useEffect, useState } from 'react'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import type { WorldClock } from '../contract.ts'

interface Reading {
  readonly clock: WorldClock
  /** When it was read, by the clock of the page. */
  readonly readAt: number
}

/** The clock of the world as it was read last, and what it says by now; null until it is known. */
export function useWorldTime(): { readonly clock: WorldClock; readonly now: number } | null {
  const { data, reload } = useApi<WorldClock>('/clock')
  const [reading, setReading] = useState<Reading | null>(null)
  const [at, setAt] = useState(() => performance.now())
  useStreamState(reload)
  useStream<WorldClock>('clock', (clock) => setReading({ clock, readAt: performance.now() }))
  useEffect(() => {
    if (data !== null) setReading({ clock: data, readAt: performance.now() })
  }, [data])

  const runs = reading !== null && reading.clock.mode !== 'manual'
  useEffect(() => {
    if (!runs) return
    const timer = window.setInterval(() => setAt(performance.now()), 500)
    return () => window.clearInterval(timer)
  }, [runs])

  if (reading === null) return null
  const { clock, readAt } = reading
  const speed = clock.mode === 'real' ? 1 : clock.mode === 'scaled' ? clock.speed : 0
  return { clock, now: Date.parse(clock.now) + Math.max(0, at - readAt) * speed }
}
