/**
 * PostgreSQL can't store U+0000 in text. So U+0000 is stored as two U+0001, and U+0001 as U+0001 U+0002. The mapping is reversible and keeps
 * the order by bytes. UTF-8 can't encode lone surrogates; each becomes U+FFFD.
 */
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const needsEscape = /[\0\u0001]/
// oxlint-disable-next-line no-control-regex -- as above
const toEscape = /[\0\u0001]/g
// oxlint-disable-next-line no-control-regex -- as above
const escapePair = /\u0001([\u0001\u0002])/g

/** Converts text from outside to its stored form. */
export function toStored(text: string): string {
  const wellFormed = text.toWellFormed()
  return needsEscape.test(wellFormed)
    ? wellFormed.replaceAll(toEscape, (char) => (char === '\0' ? '\u0001\u0001' : '\u0001\u0002'))
    : wellFormed
}

export function toStoredOrNull(text: string | null): string | null {
  return text === null ? null : toStored(text)
}

/** Converts stored text back. */
export function fromStored(text: string): string {
  return text.includes('\u0001')
    ? text.replaceAll(escapePair, (_, char: string) => (char === '\u0001' ? '\0' : '\u0001'))
    : text
}

export function fromStoredOrNull(text: string | null): string | null {
  return text === null ? null : fromStored(text)
}
