import type { Piece } from './piece.ts'

/** How a chat service wants messages written, and how long they may be. */
export interface Dialect {
  /** Size of one part, at most. */
  readonly partLimit: number
  /** Size of all parts of one message with one between each, at most. */
  readonly limit: number
  readonly partsPerMessage: number
  readonly linksPerMessage: number
  /** One character, escaped. */
  escape(character: string): string
  link(label: string, url: string): string
  /** Text of outside origin, so changed that it becomes no link and calls nobody, where escaping does not see to that. */
  defuse?(text: string): string
  /** What a character or link counts for. Default: the length of what is written. */
  sizeOf?(shown: string, written: string): number
}

/** Some text that goes into one message whole. */
export interface Part {
  readonly written: string
  readonly size: number
  readonly links: number
}

/** What is never taken apart: an escaped character, or a link. */
interface Unit {
  readonly written: string
  readonly size: number
  readonly isLink: boolean
  readonly isSpace: boolean
}

/** No more messages than that of one item: what is cut is said. */
const mostParts = 10
const noteSize = 60

/**
 * Writes pieces in the dialect, in parts that are no longer than its limit: cut behind a space or line break where there is one
 * in the second half, otherwise between characters. Text that goes on for more than ten parts is cut, and how much is said.
 * Gives one part at least, none of them blank.
 */
export function toParts(pieces: readonly Piece[], dialect: Dialect): Part[] {
  // What is longer than all parts together is not looked at to its end.
  const most = mostParts * dialect.partLimit
  const units = pieces.flatMap((piece) => toUnits({ ...piece, text: piece.text.slice(0, most) }, dialect))
  const unseen = pieces.reduce((sum, { text }) => sum + Math.max(0, text.length - most), 0)
  const parts: Part[] = []
  let start = 0
  while (start < units.length) {
    const limit = parts.length === mostParts - 1 ? dialect.partLimit - noteSize : dialect.partLimit
    const end = endOfPart(units, start, limit, dialect.linksPerMessage)
    const isLast = parts.length === mostParts - 1 && end < units.length
    const note = isLast ? toUnits({ text: ` … and ${units.length - end + unseen} characters more` }, dialect) : []
    const part = trimmed([...units.slice(start, end), ...note])
    if (part !== undefined) parts.push(part)
    if (isLast) break
    start = end
  }
  return parts.length > 0 ? parts : [{ written: '…', size: 1, links: 0 }]
}

function toUnits({ text, url, isForeign }: Piece, dialect: Dialect): Unit[] {
  const unit = (shown: string, written: string, isLink: boolean): Unit => ({
    written,
    size: dialect.sizeOf?.(shown, written) ?? written.length,
    isLink,
    isSpace: /^\s$/.test(shown),
  })
  const escaped = (shown: string) => dialect.escape(shown)
  if (url !== undefined) return [unit(text, dialect.link(Array.from(text, escaped).join(''), url), true)]
  const shown = (isForeign && dialect.defuse?.(text)) || text
  return Array.from(shown.toWellFormed(), (character) => unit(character, escaped(character), false))
}

function endOfPart(units: readonly Unit[], start: number, limit: number, mostLinks: number): number {
  let size = 0
  let links = 0
  let end = start
  for (; end < units.length; end++) {
    const unit = units[end]
    if (unit === undefined) break
    size += unit.size
    if (unit.isLink) links++
    // The first one goes in whatever it is.
    if ((size > limit || links > mostLinks) && end > start) break
  }
  if (end === units.length) return end
  for (let at = end; at > start + (end - start) / 2; at--) if (units[at - 1]?.isSpace === true) return at
  return end
}

/** Without the space around it; undefined if there is nothing else. */
function trimmed(units: readonly Unit[]): Part | undefined {
  const first = units.findIndex(({ isSpace }) => !isSpace)
  if (first === -1) return undefined
  const kept = units.slice(first, units.findLastIndex(({ isSpace }) => !isSpace) + 1)
  return {
    written: kept.map(({ written }) => written).join(''),
    size: kept.reduce((sum, { size }) => sum + size, 0),
    links: kept.filter(({ isLink }) => isLink).length,
  }
}
