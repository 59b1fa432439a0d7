import { useCallback, useState } from 'react'

export interface Act {
  /** Resolves when the act is done, whether it succeeded or not; a second call while it is busy does nothing. */
  readonly run: (act: () => Promise<unknown>) => Promise<void>
  readonly isBusy: boolean
  /** Why the last one failed. */
  readonly error: Error | null
  readonly clear: () => void
}

/** Something that a person sets off and that may fail: whether it is going on, and why it failed. */
export function useAct(): Act {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = useCallback(
    async (act: () => Promise<unknown>) => {
      if (isBusy) return
      setBusy(true)
      setError(null)
      try {
        await act()
      } catch (thrown) {
        setError(thrown instanceof Error ? thrown : new Error(String(thrown)))
      } finally {
        setBusy(false)
      }
    },
    [isBusy],
  )
  return { run, isBusy, error, clear: useCallback(() => setError(null), []) }
}
