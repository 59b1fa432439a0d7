/** Control characters, direction marks and unusual line separators. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Replaces invisible characters by their codes: `\u{202e}`. */
export function toVisible(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}
