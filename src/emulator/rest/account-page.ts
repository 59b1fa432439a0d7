import type { PageEnd } from './calls.ts'
import type { KeyedPageRequest } from './pages.ts'

/**
 * A page of something an account owns, oldest first. What comes later goes to the end, and what was deleted leaves no gap:
 * the next page begins with what is newer than the last item of this one (R122).
 */
export function pageOf<T extends { readonly createdAt: number }>(
  items: readonly T[],
  idOf: (item: T) => string,
  { limit, after }: KeyedPageRequest,
): { readonly items: readonly T[]; readonly page: PageEnd } {
  const keyOf = (item: T) => `${String(item.createdAt).padStart(16, '0')} ${idOf(item)}`
  const keyed = items.map((item) => ({ key: keyOf(item), item })).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const rest = after === null ? keyed : keyed.filter(({ key }) => key > String(after))
  const shown = rest.slice(0, limit)
  const lastKey = rest.length > limit ? (shown.at(-1)?.key ?? null) : null
  return { items: shown.map(({ item }) => item), page: { lastKey, total: items.length } }
}
