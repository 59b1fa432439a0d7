type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
/** Missing in browsers before 2025, which round such numbers. */
const { rawJSON } = JSON as unknown as { readonly rawJSON?: (text: string) => object }

/**
 * Parses JSON so that `JSON.stringify` writes each number with its original digits. Numbers that JavaScript would change
 * (18446744073709551615, 0.1000) become raw JSON objects.
 */
export function parseExactJson(text: string): unknown {
  return parse(text, (_key, value, context) => {
    const source = context?.source
    const isChanged = typeof value === 'number' && source !== undefined && source !== String(value)
    return isChanged && rawJSON !== undefined ? rawJSON(source) : value
  })
}

/** Converts a result of `parseExactJson` to plain JavaScript numbers, for calculations and formatting. */
export function toPlainNumbers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
