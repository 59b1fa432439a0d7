import { eventSchemas, type EventType } from '../../schema/index.ts'
import { editDistance } from '../edit-distance.ts'
import type { Overrides } from '../emulator/overriding.ts'
import { safeText } from '../log.ts'

/** What to tell people of paths that lead to no documented member of the type (R93–R102): they are added to the event. */
export function unknownMembers(type: EventType, set: Overrides): readonly string[] {
  const known = ['created_at', ...Object.keys(eventSchemas[type].shape.data.shape).map((name) => `data.${name}`)]
  return Object.keys(set).flatMap((path) => {
    const names = path.split('.')
    const member = names.slice(0, names[0] === 'data' ? 2 : 1).join('.')
    if (known.includes(member)) return []
    return [`${safeText(member)} is no member of ${type}: added; did you mean ${nearestTo(member, known)}?`]
  })
}

/** By its path, or by its name alone. */
function nearestTo(member: string, known: readonly string[]): string {
  const distance = (other: string) =>
    Math.min(editDistance(member, other), editDistance(member, other.slice(other.indexOf('.') + 1)))
  return known.toSorted((a, b) => distance(a) - distance(b))[0] ?? ''
}
