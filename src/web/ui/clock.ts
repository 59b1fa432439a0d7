import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let timer: number | undefined
let now = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    window.clearInterval(timer)
    timer = undefined
  }
}

/** Milliseconds since 1970, updated every second by one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => (timer === undefined ? (now = Date.now()) : now))
}
