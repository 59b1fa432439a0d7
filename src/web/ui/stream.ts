/** A connection of Server-Sent Events that reconnects after a break. */
export interface Stream {
  /** Calls `listener` with the data of each message of a kind. Returns the function that removes it. */
  on(kind: string, listener: (data: unknown) => void): () => void
  /** Calls `listener` now and at each change. Returns the function that removes it. */
  onState(listener: (isOpen: boolean) => void): () => void
  /** Idempotent. */
  close(): void
}

const retryMs = 3_000

/** Opens the stream at `url`. `kinds`: names of the server's messages. */
export function createStream(url: string, kinds: readonly string[]): Stream {
  const listeners = new Map(kinds.map((kind) => [kind, new Set<(data: unknown) => void>()]))
  const watchers = new Set<(isOpen: boolean) => void>()
  let isOpen = false
  let timer: number | undefined
  let source = connect()

  function connect(): EventSource {
    const opened = new EventSource(url)
    opened.onopen = () => report(true)
    opened.onerror = () => {
      report(false)
      // Browsers retry after a break, but not after a response that isn't a stream.
      if (opened.readyState !== EventSource.CLOSED) return
      timer = window.setTimeout(() => {
        source = connect()
      }, retryMs)
    }
    for (const [kind, own] of listeners) {
      opened.addEventListener(kind, (message: MessageEvent<string>) => {
        const data: unknown = JSON.parse(message.data)
        for (const listener of own) listener(data)
      })
    }
    return opened
  }

  function report(state: boolean): void {
    if (state === isOpen) return
    isOpen = state
    for (const watcher of watchers) watcher(state)
  }

  return {
    on(kind, listener) {
      listeners.get(kind)?.add(listener)
      return () => listeners.get(kind)?.delete(listener)
    },
    onState(listener) {
      watchers.add(listener)
      listener(isOpen)
      return () => watchers.delete(listener)
    },
    close() {
      window.clearTimeout(timer)
      source.close()
    },
  }
}
