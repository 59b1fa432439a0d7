/**
 * PostgreSQL keeps no U+0000 in text. So each U+0000 is stored as two U+0001, and each U+0001 as U+0001 U+0002: nothing is lost, two
 * texts stay two, and their order by bytes stays what it was. Of text that is not well-formed, which UTF-8 cannot say, each lone
 * surrogate becomes U+FFFD, as everywhere.
 */
// oxlint-disable-next-line no-control-regex -- that is what it is about
const special = /[\0\u0001]/
// oxlint-disable-next-line no-control-regex -- as above
const stored = /[\0\u0001]/g
// oxlint-disable-next-line no-control-regex -- as above
const kept = /\u0001([\u0001\u0002])/g

/** Text from outside as it is stored. */
export function toStored(text: string): string {
  const wellFormed = text.toWellFormed()
  return special.test(wellFormed)
    ? wellFormed.replaceAll(stored, (char) => (char === '\0' ? '\u0001\u0001' : '\u0001\u0002'))
    : wellFormed
}

/** The same, of what may be null. */
export function toStoredOrNull(text: string | null): string | null {
  return text === null ? null : toStored(text)
}

/** Stored text as it came. */
export function fromStored(text: string): string {
  return text.includes('\u0001')
    ? text.replaceAll(kept, (_, char: string) => (char === '\u0001' ? '\0' : '\u0001'))
    : text
}

/** The same, of what may be null. */
export function fromStoredOrNull(text: string | null): string | null {
  return text === null ? null : fromStored(text)
}
