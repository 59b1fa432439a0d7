type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
/** What a browser of before 2025 lacks: there such numbers are rounded, as they always are. */
const { rawJSON } = JSON as unknown as { readonly rawJSON?: (text: string) => { readonly rawJSON: string } }

/** So many digits a number always keeps. */
const safeDigits = 15

/**
 * Parses JSON so that a number with more digits than JavaScript keeps (18446744073709551615) becomes an object that `JSON.stringify` writes as it
 * came. All others stay numbers.
 */
export function parseExact(text: string): unknown {
  return parse(text, (_key, value, context) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || rawJSON === undefined) return value
    const digits = source.replace(/e.*$/i, '').replaceAll(/[-.]/g, '').replace(/^0+/, '')
    return digits.length > safeDigits && source !== String(value) ? rawJSON(source) : value
  })
}

/** The digits of a number as they came, if `parseExact` kept them; else null. */
export function exactDigits(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('rawJSON' in value)) return null
  return Object.isFrozen(value) && typeof value.rawJSON === 'string' ? value.rawJSON : null
}
