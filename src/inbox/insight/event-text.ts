import { haveAll, splitWords } from './words.ts'

/** What is known of an event without its body. */
export interface KnownOfEvent {
  readonly id: string
  readonly type: string
}

/** Of larger bodies only the texts up to here are searched. In characters. */
const mostText = 32_768
/** A body is no larger, unless the receiver is told otherwise; what is larger is not parsed. */
const mostBytes = 4 * 1024 * 1024

const decoder = new TextDecoder()

/** Whether all words that are asked for stand in an event, as a search would find it. */
export function isFoundBy(asked: readonly string[], raw: Uint8Array, known: KnownOfEvent): boolean {
  if (asked.length === 0) return true
  const words = splitWords(`${known.id} ${known.type} ${readText(raw).text}`)
  return haveAll(words, asked)
}

/**
 * The texts and numbers in the bytes of an event, as far as they are searched, numbers as they were written; and what the bytes say:
 * undefined where they are too many, no JSON, or nested too deep.
 */
export function readText(raw: Uint8Array): { readonly text: string; readonly envelope: unknown } {
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
