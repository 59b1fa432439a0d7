import { wordsAsked } from '../../insight/words.ts'
import { exactTerms, type ExactFields } from '../../index-terms.ts'
import type { EventQuery } from '../../port.ts'

/** What the full-text table is given of an event. */
export function textOf(words: readonly string[], fields: ExactFields): string {
  return [...words, ...exactTerms(fields)].join(' ')
}

/**
 * The query that a full-text table is asked, or null where nothing is asked that it could answer. All that comes from outside is
 * either a digest or letters and digits, each in quotes: there is no syntax in it.
 */
export function matchOf(query: Pick<EventQuery, 'type' | 'network' | 'address' | 'q'>): string | null {
  const words = query.q === undefined ? [] : wordsAsked(query.q)
  const terms = [...exactTerms(query).map((term) => `"${term}"`), ...words.map((word) => `"${word}" *`)]
  return terms.length === 0 ? null : terms.join(' AND ')
}
