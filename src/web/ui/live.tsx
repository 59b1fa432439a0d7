import { useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from 'react'
import { createStream, type Stream } from './stream.ts'

const LiveContext = createContext<Stream | null>(null)

export interface LiveProps {
  readonly url: string
  readonly kinds: readonly string[]
  readonly children: ReactNode
}

/** Keeps one stream open for the page. When it opens, everything is read again: changes before that were not reported. */
export function Live({ url, kinds, children }: LiveProps) {
  const [stream, setStream] = useState<Stream | null>(null)
  const client = useQueryClient()
  useEffect(() => {
    const opened = createStream(url, kinds)
    setStream(opened)
    const unwatch = opened.onState((isOpen) => {
      if (isOpen) void client.invalidateQueries()
    })
    return () => {
      unwatch()
      opened.close()
    }
  }, [url, kinds, client])
  return <LiveContext value={stream}>{children}</LiveContext>
}

/** Calls the latest `listener` with each message of a kind. */
export function useLive<T>(kind: string, listener: (data: T) => void): void {
  const stream = useContext(LiveContext)
  const latest = useRef(listener)
  useEffect(() => {
    latest.current = listener
  })
  useEffect(() => stream?.on(kind, (data) => latest.current(data as T)), [stream, kind])
}

/** Whether the stream is connected. */
export function useIsLive(): boolean {
  const stream = useContext(LiveContext)
  const [isLive, setLive] = useState(false)
  useEffect(() => stream?.onState(setLive), [stream])
  return isLive
}
