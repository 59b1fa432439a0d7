/**
 * What words are, for all searches alike: runs of letters and digits, in lower case, without accents. So `0xAB…` is one word, and
 * `12.50` two.
 */

/** An address, a hash or a signature is shorter; of what is longer the begin is kept. */
const longestWord = 128
const mostWordsAsked = 16
const word = /[\p{L}\p{N}]+/gu
const accents = /\p{M}/gu
const beyondAscii = /[^\0-\x7f]/

/** The words of a text in their order, repeats among them. */
export function splitWords(text: string): string[] {
  const folded = beyondAscii.test(text) ? fold(text) : text.toLowerCase()
  const words = folded.match(word) ?? []
  return words.map((found) => (found.length > longestWord ? cut(found) : found))
}

/** The words of a search, each once; of more than 16 the first ones. */
export function wordsAsked(query: string): readonly string[] {
  return [...new Set(splitWords(query))].slice(0, mostWordsAsked)
}

/** Whether each word that is asked for is one of the words, or the begin of one. */
export function haveAll(words: readonly string[], asked: readonly string[]): boolean {
  return asked.every((begin) => words.some((found) => found.startsWith(begin)))
}

/** Of what can be written in two ways there is one; lower case first, for it can bring accents. */
function fold(text: string): string {
  return text.toLowerCase().normalize('NFD').replace(accents, '').normalize('NFC')
}

/** Not within a pair of surrogates. */
function cut(text: string): string {
  return text
    .slice(0, longestWord)
    .toWellFormed()
    .replace(/\ufffd$/u, '')
}
