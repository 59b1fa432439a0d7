/**
 * Ways to write the same event. A receiver that signs re-serialised JSON fails for all profiles but `canonical`:
 * the others put a blank or a line break after each comma, which `JSON.stringify` doesn't.
 *
 * - `spaced`: whole numbers in fractional fields carry `.0`
 * - `canonical`: the output of `JSON.stringify`
 * - `escaped`: non-ASCII as `\u00e9`, `/` as `\/`, and `_` as `\u005f` so that all events have escapes
 * - `exponent`: large and small numbers in fractional fields as `1.5E+3` and `1e-7`
 * - `reordered`: members of objects in reverse order
 * - `pretty`: one member per line, indented by two blanks per level
 */
export const serializerProfiles = ['spaced', 'canonical', 'escaped', 'exponent', 'reordered', 'pretty'] as const
export type SerializerProfile = (typeof serializerProfiles)[number]

const integerFields = new Set(['previous_risk_score', 'current_risk_score', 'risk_score', 'holder_count'])

/** The exact bytes of an event, identical in all deliveries (R72, R73, R89). Integer fields stay integers. */
export function serialize(event: object, profile: SerializerProfile = 'spaced'): Buffer<ArrayBuffer> {
  if (profile === 'canonical') return Buffer.from(JSON.stringify(event))
  if (profile === 'pretty') return Buffer.from(JSON.stringify(event, null, 2))
  return Buffer.from(toText(event, '', styles[profile]))
}

const spaced = {
  text: (text: string) => JSON.stringify(text),
  /** Writes a number of a fractional field. */
  fractional(value: number) {
    const text = JSON.stringify(value)
    return /^-?\d+$/.test(text) ? `${text}.0` : text
  },
  members: (object: object): [string, unknown][] => Object.entries(object),
}
type Style = typeof spaced

const styles: Readonly<Record<Exclude<SerializerProfile, 'canonical' | 'pretty'>, Style>> = {
  spaced,
  escaped: { ...spaced, text: toAscii },
  exponent: { ...spaced, fractional: toExponent },
  reordered: { ...spaced, members: (object) => Object.entries(object).toReversed() },
}

function toText(value: unknown, field: string, style: Style): string {
  if (typeof value === 'string') return style.text(value)
  if (typeof value === 'number') return integerFields.has(field) ? JSON.stringify(value) : style.fractional(value)
  if (Array.isArray(value)) return `[${value.map((item) => toText(item, field, style)).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = style.members(value).map(([name, member]) => `${style.text(name)}: ${toText(member, name, style)}`)
    return `{${members.join(', ')}}`
  }
  return JSON.stringify(value)
}

function toAscii(text: string): string {
  return JSON.stringify(text)
    .replaceAll('/', '\\/')
    .replace(/[_\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Absolute values from 0.001 to 1000 stay in plain notation. */
function toExponent(value: number): string {
  const size = Math.abs(value)
  if (size >= 1_000) return value.toExponential().toUpperCase()
  return size > 0 && size < 0.001 ? value.toExponential() : JSON.stringify(value)
}
