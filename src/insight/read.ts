import { ownTypePrefix } from '../inbox/port.ts'
import { findDrift, type DriftFinding } from './drift.ts'
import { haveAll, splitWords } from './words.ts'

/** What is known of an event without its body. */
export interface KnownOfEvent {
  readonly id: string
  readonly type: string
}

/** What an index keeps of an event. */
export interface ReadForIndex {
  /** Each once: of all texts and numbers as they were written, of the id and the type; not of the keys. */
  readonly words: readonly string[]
  readonly drift: readonly DriftFinding[]
}

/** Of larger bodies only the texts up to here are searched. In characters. */
const mostText = 32_768
/** A body is no larger, unless the receiver is told otherwise; what is larger is not parsed. */
const mostBytes = 4 * 1024 * 1024

const decoder = new TextDecoder()

/** Reads the bytes of an event. Throws for none: of what is no JSON, id and type are all there is. */
export function readForIndex(raw: Uint8Array, { id, type }: KnownOfEvent): ReadForIndex {
  const { text, envelope } = parse(raw)
  const words = [...new Set(splitWords(`${id} ${type} ${text}`))]
  const isOwn = type.startsWith(ownTypePrefix)
  return { words, drift: isOwn || envelope === undefined ? [] : findDrift(type, envelope) }
}

/** Whether all words that are asked for stand in an event, as a search would find it. */
export function isFoundBy(asked: readonly string[], raw: Uint8Array, known: KnownOfEvent): boolean {
  if (asked.length === 0) return true
  const words = splitWords(`${known.id} ${known.type} ${parse(raw).text}`)
  return haveAll(words, asked)
}

/** `envelope` is undefined where it is no JSON, or nested too deep. */
function parse(raw: Uint8Array): { readonly text: string; readonly envelope: unknown } {
  if (raw.length > mostBytes) return { text: '', envelope: undefined }
  const texts: string[] = []
  let length = 0
  const add = (text: string) => {
    if (length >= mostText) return
    texts.push(text.slice(0, mostText - length))
    length += text.length + 1
  }
  try {
    const envelope: unknown = JSON.parse(decoder.decode(raw), (_key, value: unknown, context?: Source) => {
      if (typeof value === 'string') add(value)
      else if (typeof value === 'number') add(context?.source ?? String(value))
      return value
    })
    return { text: texts.join(' '), envelope }
  } catch {
    return { text: '', envelope: undefined }
  }
}

interface Source {
  readonly source?: string
}
