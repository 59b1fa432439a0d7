import { createHash } from 'node:crypto'
import { wordsAsked } from '../../../insight/words.ts'
import type { EventQuery } from '../../port.ts'

/** No word has this character: a private one of Unicode. */
const mark = '\ue000'

/** What an event is found by as a whole: its type, its network, its address. A digest, so that it is one term whatever it has in it. */
function exactTerm(field: 't' | 'n' | 'a', value: string): string {
  return `${mark}${field}${createHash('sha256').update(value).digest('hex').slice(0, 16)}`
}

export interface ExactFields {
  readonly type?: string | null | undefined
  readonly network?: string | null | undefined
  readonly address?: string | null | undefined
}

function exactTerms({ type, network, address }: ExactFields): string[] {
  const term = (field: 't' | 'n' | 'a', value: string | null | undefined) => {
    return value === undefined || value === null ? [] : [exactTerm(field, value)]
  }
  return [...term('a', address), ...term('n', network), ...term('t', type)]
}

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
