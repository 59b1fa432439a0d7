/** A connection of Server-Sent Events that comes back by itself. */
export interface Stream {
  /** Calls `listener` with the data of each event of a kind; gives back what ends that. */
  on(kind: string, listener: (data: unknown) => void): () => void
  /** Calls `listener` with whether the connection is there, and whether it was there or failed before, now and at each change. */
  onState(listener: (isOpen: boolean, isAgain: boolean) => void): () => void
  /** Idempotent. */
  close(): void
}

const retryMs = 3_000

/** Opens the stream at `url`; the kinds are those the server names its events by. */
export function createStream(url: string, kinds: readonly string[]): Stream {
  const listeners = new Map(kinds.map((kind) => [kind, new Set<(data: unknown) => void>()]))
  const watchers = new Set<(isOpen: boolean, isAgain: boolean) => void>()
  let isOpen = false
  let isAgain = false
  let timer: number | undefined
  let source = connect()

  function connect(): EventSource {
    const opened = new EventSource(url)
    opened.onopen = () => tell(true)
    opened.onerror = () => {
      tell(false)
      // A browser tries again after a break, but not after an answer that is no stream.
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

  function tell(state: boolean): void {
    if (state !== isOpen) {
      isOpen = state
      for (const watcher of watchers) watcher(state, isAgain)
    }
    // Also where the first try failed: what was asked for meanwhile may have failed as well.
    isAgain = true
  }

  return {
    on(kind, listener) {
      listeners.get(kind)?.add(listener)
      return () => listeners.get(kind)?.delete(listener)
    },
    onState(listener) {
      watchers.add(listener)
      listener(isOpen, isAgain)
      return () => watchers.delete(listener)
    },
    close() {
      window.clearTimeout(timer)
      source.close()
    },
  }
}
