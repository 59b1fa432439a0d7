import { ownTypePrefix } from '../port.ts'
import { findDrift, type DriftFinding } from './drift.ts'
import { readText, type KnownOfEvent } from './event-text.ts'
import { splitWords } from './words.ts'

/** What an index keeps of an event. */
export interface ReadForIndex {
  /** Each once: of all texts and numbers as they were written, of the id and the type; not of the keys. */
  readonly words: readonly string[]
  readonly drift: readonly DriftFinding[]
}

/** Reads the bytes of an event. Throws for none: of what is no JSON, id and type are all there is. */
export function readForIndex(raw: Uint8Array, { id, type }: KnownOfEvent): ReadForIndex {
  const { text, envelope } = readText(raw)
  const words = [...new Set(splitWords(`${id} ${type} ${text}`))]
  const isOwn = type.startsWith(ownTypePrefix)
  return { words, drift: isOwn || envelope === undefined ? [] : findDrift(type, envelope) }
}
