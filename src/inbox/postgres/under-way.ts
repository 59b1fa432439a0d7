/** What has begun and not ended. */
export interface UnderWay {
  /** Gives what `work` gives. */
  watch<T>(work: Promise<T>): Promise<T>
  /** Resolves when all that has begun by now has ended, well or not. */
  ended(): Promise<void>
}

export function createUnderWay(): UnderWay {
  const going = new Set<Promise<unknown>>()
  return {
    async watch(work) {
      going.add(work)
      try {
        return await work
      } finally {
        going.delete(work)
      }
    },
    ended: async () => void (await Promise.allSettled(going)),
  }
}
