import { useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from 'react'
import { Status } from './status.tsx'

/** Messages of the stream by kind, and whether it is connected. */
const LiveContext = createContext({ messages: new EventTarget(), isLive: false })
const retryMs = 3_000

export interface LiveProps {
  readonly url: string
  /** Names of the server's messages. */
  readonly kinds: readonly string[]
  readonly children: ReactNode
}

/**
 * Keeps one stream of Server-Sent Events open for the page. When it opens, everything is read again: changes before that were not
 * reported.
 */
export function Live({ url, kinds, children }: LiveProps) {
  const [messages] = useState(() => new EventTarget())
  const [isLive, setLive] = useState(false)
  const client = useQueryClient()
  useEffect(() => {
    let timer: number | undefined
    let source = connect()
    function connect(): EventSource {
      const opened = new EventSource(url)
      opened.onopen = () => {
        setLive(true)
        void client.invalidateQueries()
      }
      opened.onerror = () => {
        setLive(false)
        // Browsers retry after a break, but not after a response that isn't a stream.
        if (opened.readyState === EventSource.CLOSED) timer = window.setTimeout(() => (source = connect()), retryMs)
      }
      for (const kind of kinds) {
        opened.addEventListener(kind, ({ data }: MessageEvent<string>) => {
          messages.dispatchEvent(new CustomEvent(kind, { detail: JSON.parse(data) }))
        })
      }
      return opened
    }
    return () => {
      window.clearTimeout(timer)
      source.close()
    }
  }, [url, kinds, client, messages])
  return <LiveContext value={{ messages, isLive }}>{children}</LiveContext>
}

/** Calls the latest `listener` with each message of a kind. */
export function useLive<T>(kind: string, listener: (data: T) => void): void {
  const { messages } = useContext(LiveContext)
  const latest = useRef(listener)
  useEffect(() => {
    latest.current = listener
  })
  useEffect(() => {
    const report = (message: Event) => latest.current((message as CustomEvent<T>).detail)
    messages.addEventListener(kind, report)
    return () => messages.removeEventListener(kind, report)
  }, [messages, kind])
}

/** Whether the stream is connected. */
export function LiveState() {
  const { isLive } = useContext(LiveContext)
  return (
    <span role="status">
      <Status tone={isLive ? 'good' : 'warning'}>{isLive ? 'Live' : 'Reconnecting'}</Status>
    </span>
  )
}
