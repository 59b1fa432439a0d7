import { nearest } from '../nearest.ts'
import type { RouteFilter } from './routes.ts'

/** What the types of the program's own events begin with: see `ownTypePrefix` of the inbox. */
const ownPrefix = 'inbox.'

/** The route to a sink that `notify` names. */
export const ownEvents: RouteFilter = { types: [`${ownPrefix}*`], where: [] }

/** Whether a pattern of a route stands for own events, and so for no others. */
export function isOwnPattern(pattern: string): boolean {
  return pattern.startsWith(ownPrefix)
}

/** What is wrong with `notify`. Undefined `names`: they are not known, and all will do. */
export function problemsOfNotify(notify: readonly string[], names: readonly string[] | undefined): string[] {
  if (names === undefined) return []
  const known = names.length === 0 ? 'there are no sinks' : `there are: ${names.join(', ')}`
  return notify
    .filter((name) => !names.includes(name))
    .map((name) => `notify: there is no sink ${JSON.stringify(name)}${nearest(name, names)}; ${known}`)
}
