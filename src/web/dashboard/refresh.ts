import { useThrottledCallback } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useLive } from '../ui/live.tsx'

/** Minimum time between two reads of the same data. */
const refreshMs = 1_000

/** Reads the paths that match again when the stream sends a message of a kind. */
export function useRefresh(kind: 'event' | 'attempt', paths: RegExp): void {
  const client = useQueryClient()
  const refresh = useThrottledCallback(() => {
    void client.invalidateQueries({ predicate: ({ queryKey: [path] }) => typeof path === 'string' && paths.test(path) })
  }, refreshMs)
  useLive(kind, refresh)
}
