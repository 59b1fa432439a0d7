import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'

/** An event with any members in `data`. */
export interface PlainEvent {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** New values by path: `data.amount_usd`, `data.triggered_checks.0`, `created_at`. */
export type Overrides = Readonly<Record<string, unknown>>

const maxPathLength = 200
const maxDepth = 32
/** Names that would reach the prototype of all objects. */
const refusedNames: readonly string[] = ['__proto__', 'constructor', 'prototype']

/** Why a path of an override is invalid, for people; null if it is valid. */
export function pathProblem(path: string): string | null {
  const names = path.split('.')
  if (path.length > maxPathLength || names.includes('')) {
    return `expected member names separated by dots, such as data.amount_usd, at most ${maxPathLength} characters`
  }
  if (names[0] === 'id') return 'the id of an event cannot be set: it is generated'
  if (names[0] === 'type') return 'the type of an event cannot be set: trigger another type instead'
  if (path === 'data') return 'expected a member of data, such as data.amount_usd'
  const refused = names.find((name) => refusedNames.includes(name))
  return refused === undefined ? null : `${refused} is not allowed as a member name`
}

/** Why a value of an override is invalid, for people; null if JSON can represent it. */
export function valueProblem(value: unknown): string | null {
  if (!isShallow(value, maxDepth)) return `expected at most ${maxDepth} levels of nesting`
  return isRepresentable(value) ? null : 'expected numbers that JSON can represent, at most 1.7976931348623157e308'
}

/**
 * Returns a copy of the event with these members set. Missing objects on a path are created.
 *
 * @throws InboxError `usage` for an invalid path, a path through a non-object, or a value that JSON can't represent
 */
export function withOverrides(event: PlainEvent, overrides: Overrides): PlainEvent {
  const changed = structuredClone(event)
  for (const [path, value] of Object.entries(overrides)) {
    const problem = pathProblem(path)
    if (problem !== null) throw refusal(path, problem)
    if (path === 'created_at' && typeof value !== 'string') throw refusal(path, 'expected text')
    const misfit = valueProblem(value)
    if (misfit !== null) throw refusal(path, misfit)
    put(changed, path, value)
  }
  return changed
}

function put(event: object, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let place: object = event
  for (const name of names) {
    const next = read(place, name, path) ?? write(place, name, {}, path)
    if (typeof next !== 'object') throw refusal(path, `${name} is not an object, so it has no members to set`)
    place = next
  }
  write(place, last, value, path)
}

function read(place: object, name: string, path: string): unknown {
  if (Array.isArray(place)) return (place as readonly unknown[])[indexIn(place, name, path)]
  return Object.hasOwn(place, name) ? (place as Record<string, unknown>)[name] : undefined
}

function write<T>(place: object, name: string, value: T, path: string): T {
  if (Array.isArray(place)) (place as unknown[])[indexIn(place, name, path)] = value
  else (place as Record<string, unknown>)[name] = value
  return value
}

/** Index of an existing item, or of the one after the last. */
function indexIn(list: readonly unknown[], name: string, path: string): number {
  const index = /^\d{1,6}$/.test(name) ? Number(name) : Infinity
  if (index <= list.length) return index
  throw refusal(path, `expected a list index from 0 to ${list.length} (got ${safeText(name, 50)})`)
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1))
}

/** Assumes that `isShallow` holds. */
function isRepresentable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isRepresentable)
}

function refusal(path: string, problem: string): InboxError {
  return new InboxError('usage', `${safeText(path, maxPathLength)}: ${problem}`)
}
