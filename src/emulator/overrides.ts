import { eventExamples } from '../../schema/events.ts'
import type { EventType } from '../../schema/names.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import type { RandomBytes } from './random.ts'
import { toEventId } from './world/addresses.ts'

/** An event with any members in `data`. */
export interface PlainEvent {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** New values by path, such as `data.amount_usd` or `created_at`. */
export type Overrides = Readonly<Record<string, unknown>>

const maxPathLength = 200
const maxDepth = 32
/** Names that would reach the prototype of all objects. */
const forbiddenNames: readonly string[] = ['__proto__', 'constructor', 'prototype']

/** Why a path of an override is invalid, for people; null if it is valid. */
export function pathProblem(path: string): string | null {
  const names = path.split('.')
  if (path.length > maxPathLength || names.includes('')) {
    return `expected member names separated by dots, such as data.amount_usd, at most ${maxPathLength} characters`
  }
  if (names[0] === 'id') return 'the id of an event cannot be set: it is generated'
  if (names[0] === 'type') return 'the type of an event cannot be set: trigger another type instead'
  if (path === 'data') return 'expected a member of data, such as data.amount_usd'
  const forbidden = names.find((name) => forbiddenNames.includes(name))
  return forbidden === undefined ? null : `${forbidden} is not allowed as a member name`
}

/** Why a value of an override is invalid, for people; null if JSON can represent it. */
export function valueProblem(value: unknown): string | null {
  if (isJson(value, maxDepth)) return null
  return `expected JSON with numbers up to 1.7976931348623157e308 and at most ${maxDepth} levels of nesting`
}

function isJson(value: unknown, levels: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isJson(member, levels - 1))
}

/**
 * Returns a copy of the event with these members set. Missing objects on a path are created.
 *
 * @throws InboxError `usage` for an invalid path, a path through a non-object, or a value that JSON can't represent
 */
export function withOverrides(event: PlainEvent, overrides: Overrides): PlainEvent {
  const changed = structuredClone(event)
  for (const [path, value] of Object.entries(overrides)) {
    const isInvalidTime = path === 'created_at' && typeof value !== 'string'
    const problem = pathProblem(path) ?? (isInvalidTime ? 'expected text' : valueProblem(value))
    if (problem !== null) throw problemAt(path, problem)
    const names = path.split('.')
    const last = names.pop() ?? ''
    let parent = changed as unknown as Record<string, unknown>
    for (const name of names) {
      const next = Object.hasOwn(parent, name) ? parent[name] : (parent[name] = {})
      if (typeof next !== 'object' || next === null || Array.isArray(next)) {
        throw problemAt(path, `${name} is not an object, so it has no members to set`)
      }
      parent = next as Record<string, unknown>
    }
    parent[last] = value
  }
  return changed
}

/**
 * Returns the documented example of the type, with a new id, this time and these overrides.
 *
 * @throws InboxError `usage` for an invalid override
 */
export function toRawEvent(type: EventType, nowMs: number, randomBytes: RandomBytes, set: Overrides): PlainEvent {
  const id = toEventId(nowMs, 0, Buffer.from(randomBytes(8)))
  return withOverrides({ ...eventExamples[type], id, created_at: new Date(nowMs).toISOString() }, set)
}

function problemAt(path: string, problem: string): InboxError {
  return new InboxError('usage', `${safeText(path, maxPathLength)}: ${problem}`)
}
