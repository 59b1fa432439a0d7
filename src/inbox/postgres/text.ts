/**
 * PostgreSQL can't store U+0000 in text. So U+0000 is stored as two U+0001, and U+0001 as U+0001 U+0002. The mapping is reversible and keeps
 * the order by bytes. UTF-8 can't encode lone surrogates; each becomes U+FFFD. Connections convert parameters (`toParameters`) and results
 * (`fromStored`, `parseStoredJson`). Only texts within JSON parameters that a statement takes apart need `toStoredJson`.
 */
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const needsEscape = /[\0\u0001]/
// oxlint-disable-next-line no-control-regex -- as above
const toEscape = /[\0\u0001]/g
// oxlint-disable-next-line no-control-regex -- as above
const escapePair = /\u0001([\u0001\u0002])/g

/** Converts text to its stored form. */
export function toStored(text: string): string {
  const wellFormed = text.toWellFormed()
  return needsEscape.test(wellFormed)
    ? wellFormed.replaceAll(toEscape, (char) => (char === '\0' ? '\u0001\u0001' : '\u0001\u0002'))
    : wellFormed
}

/** Converts stored text back. */
export function fromStored(text: string): string {
  return text.includes('\u0001')
    ? text.replaceAll(escapePair, (_, char: string) => (char === '\u0001' ? '\0' : '\u0001'))
    : text
}

/** Converts all texts of a statement's parameters. Buffers must contain stored text already. */
export function toParameters(values: readonly unknown[]): unknown[] {
  const convert = (value: unknown): unknown => {
    if (typeof value === 'string') return toStored(value)
    return Array.isArray(value) ? value.map(convert) : value
  }
  return values.map(convert)
}

/** A value as JSON, with all its texts in stored form. */
export function toStoredJson(value: unknown): string {
  const json = JSON.stringify(value)
  // JSON.stringify escapes control characters and lone surrogates.
  return json.includes('\\u')
    ? json.replaceAll(
        /\\(?:u000([01])|u(d[89a-f][0-9a-f]{2})|[^])/g,
        (escape, control?: string, surrogate?: string) => {
          if (surrogate !== undefined) return '\ufffd'
          return control === undefined ? escape : String.raw`\u0001\u000${control === '0' ? 1 : 2}`
        },
      )
    : json
}

/** Parses JSON with texts in stored form. */
export function parseStoredJson(json: string): unknown {
  const text = json.includes(String.raw`\u0001`)
    ? json.replaceAll(/\\(?:u0001\\u000([12])|[^])/g, (escape, second?: string) => {
        return second === undefined ? escape : String.raw`\u000${second === '1' ? 0 : 1}`
      })
    : json
  return JSON.parse(text)
}
