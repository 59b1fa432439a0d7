import type { KnownEvent } from '../../schema/index.ts'

const integerFields = new Set(['previous_risk_score', 'current_risk_score', 'risk_score', 'holder_count'])

/**
 * The exact bytes of an event, the same on every delivery (R72, R73, R89).
 *
 * They are never what `JSON.stringify` would make of the parsed event: a space follows each comma and colon, and whole
 * numbers in fractional fields carry `.0`. A receiver that signs its own re-serialised JSON therefore fails here, as it
 * may against the service.
 */
export function serialize(event: KnownEvent): Buffer {
  return Buffer.from(toText(event, ''))
}

function toText(value: unknown, field: string): string {
  if (typeof value === 'number') return toNumber(value, field)
  if (Array.isArray(value)) return `[${value.map((item) => toText(item, field)).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${toText(member, name)}`)
    return `{${members.join(', ')}}`
  }
  return JSON.stringify(value)
}

function toNumber(value: number, field: string): string {
  const text = JSON.stringify(value)
  return integerFields.has(field) || !/^-?\d+$/.test(text) ? text : `${text}.0`
}
