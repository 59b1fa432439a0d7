import { wordsAsked } from '../../insight/words.ts'
import { exactTerms, type ExactFields } from '../../index-terms.ts'
import type { Asked } from './finder.ts'
import { partPrefix } from './schema.ts'

/** A `tsvector` in writing: what an event is found by. Words have letters and digits in them, and nothing that would have to be escaped. */
export function vectorOf(seq: number, words: readonly string[], fields: ExactFields): string {
  const prefix = partPrefix(seq)
  return [...words, ...exactTerms(fields)].map((word) => `'${prefix}${word}'`).join(' ')
}

/**
 * A `tsquery` in writing, with a # where the number of a part of the accept sequence belongs; null where nothing is asked that it could
 * answer. All that comes from outside is either a digest or letters and digits, each in quotes: there is no syntax in it.
 */
export function queryOf(asked: Asked): string | null {
  const words = asked.q === undefined ? [] : wordsAsked(asked.q)
  const terms = [...exactTerms(asked).map((term) => `'#${term}'`), ...words.map((word) => `'#${word}':*`)]
  return terms.length === 0 ? null : terms.join(' & ')
}
