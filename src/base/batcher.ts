interface Entry<T, R> {
  readonly item: T
  readonly resolve: (result: R) => void
  readonly reject: (error: Error) => void
}

/**
 * Collects the items of one turn of the event loop into one batch. `flush` returns one result per item, in order. If it
 * rejects, every item of the batch rejects.
 */
export function createBatcher<T, R>(
  flush: (items: readonly T[]) => Promise<readonly R[]>,
): { add(item: T): Promise<R> } {
  let gathered: Entry<T, R>[] = []

  async function flushGathered(): Promise<void> {
    const batch = gathered
    gathered = []
    try {
      const results = await flush(batch.map((entry) => entry.item))
      batch.forEach((entry, index) => entry.resolve(results[index] as R))
    } catch (error) {
      for (const entry of batch) entry.reject(error as Error)
    }
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        if (gathered.length === 0) setImmediate(() => void flushGathered())
        gathered.push({ item, resolve, reject })
      }),
  }
}
