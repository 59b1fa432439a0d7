import { createContext, useContext, useEffect, useRef, useState } from 'react'
import type { Stream } from './stream.ts'

export const StreamContext = createContext<Stream | null>(null)

/** Calls the newest `listener` with each event of a kind, typed as its sender says it is. */
export function useStream<T>(kind: string, listener: (data: T) => void): void {
  const stream = useContext(StreamContext)
  const newest = useRef(listener)
  useEffect(() => {
    newest.current = listener
  })
  useEffect(() => stream?.on(kind, (data) => newest.current(data as T)), [stream, kind])
}

/** Whether the stream is connected; calls `onReconnect` when it is back after a break, during which things were missed. */
export function useStreamState(onReconnect?: () => void): boolean {
  const stream = useContext(StreamContext)
  const [isOpen, setOpen] = useState(false)
  const newest = useRef(onReconnect)
  useEffect(() => {
    newest.current = onReconnect
  })
  useEffect(() => {
    // What came to the page during a break missed things as well.
    let isFirst = true
    return stream?.onState((state, isAgain) => {
      setOpen(state)
      if (state && isAgain && !isFirst) newest.current?.()
      isFirst = false
    })
  }, [stream])
  return isOpen
}
