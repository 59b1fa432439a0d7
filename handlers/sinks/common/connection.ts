export interface Connection<T> {
  /** The one that is open, or else a new one; those who ask at once share it. */
  get(): Promise<T>
  /** What is open is of no use any more: the next one who asks gets a new one. */
  forget(): Promise<void>
}

export interface ConnectionOptions<T> {
  readonly open: () => Promise<T>
  readonly close: (opened: T) => void | Promise<void>
}

/** A connection that is opened when it is first needed, and anew after it was lost. */
export function createConnection<T>({ open, close }: ConnectionOptions<T>): Connection<T> {
  let current: Promise<T> | undefined
  return {
    get() {
      if (current !== undefined) return current
      const opening = open()
      current = opening
      opening.catch(() => {
        if (current === opening) current = undefined
      })
      return opening
    },
    async forget() {
      const old = current
      current = undefined
      // One that could not be opened, or is broken, has nothing left to close.
      await old?.then(close).catch(() => {})
    },
  }
}
