type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/**
 * Parses JSON so that `JSON.stringify` writes each number as it came, every digit kept: what a JavaScript number cannot hold
 * (18446744073709551615, 0.1000) becomes an object that stands for its source text.
 */
export function parseExactJson(text: string): unknown {
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? rawJSON(source) : value,
  )
}

/** What `parseExactJson` gave, with JavaScript numbers only, for what reckons or formats. */
export function toPlainNumbers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
