import type { PageRequest } from './port.ts'

/** A page of what is in the order of its keys, smallest first. */
export function cut(
  keys: readonly number[],
  { limit, after }: PageRequest,
): { shown: readonly number[]; lastKey: number | null } {
  const rest = after === null ? keys : keys.filter((key) => key > after)
  const shown = rest.slice(0, limit)
  return { shown, lastKey: rest.length > limit ? (shown.at(-1) ?? null) : null }
}
