type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
/** Missing in browsers before 2025, which round such numbers. */
const { rawJSON } = JSON as unknown as { readonly rawJSON?: (text: string) => { readonly rawJSON: string } }

/** A JavaScript number keeps at least this many digits. */
const safeDigits = 15

/**
 * Parses JSON. A number with more digits than JavaScript keeps (18446744073709551615) becomes an object that `JSON.stringify` writes
 * unchanged. Other numbers stay numbers.
 */
export function parseExact(text: string): unknown {
  return parse(text, (_key, value, context) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || rawJSON === undefined) return value
    const digits = source.replace(/e.*$/i, '').replaceAll(/[-.]/g, '').replace(/^0+/, '')
    return digits.length > safeDigits && source !== String(value) ? rawJSON(source) : value
  })
}

/** The digits of a number that `parseExact` kept; null for other values. */
export function exactDigits(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('rawJSON' in value)) return null
  return Object.isFrozen(value) && typeof value.rawJSON === 'string' ? value.rawJSON : null
}
