/** A piece of a message before it is written in the dialect of a service. */
export interface Piece {
  readonly text: string
  /** Target of a link. */
  readonly url?: string
  /** True for external text, which must not become a link or mention. */
  readonly isForeign?: boolean
}

export const own = (text: string): Piece => ({ text })
export const foreign = (text: string): Piece => ({ text, isForeign: true })

/** Joins groups of pieces: `a · b · c`. */
export function joined(groups: readonly (readonly Piece[])[]): Piece[] {
  return groups
    .filter((group) => group.length > 0)
    .flatMap((group, index) => (index === 0 ? group : [own(' · '), ...group]))
}

/** Syntax and limits of a chat service's messages. */
export interface Dialect {
  /** Maximum size of a part. */
  readonly partLimit: number
  /** Maximum size of a message: its parts, with one character between them. */
  readonly limit: number
  readonly partsPerMessage: number
  readonly linksPerMessage: number
  /** Escapes one character. */
  escape(character: string): string
  link(label: string, url: string): string
  /** Changes external text so that it becomes no link or mention, where escaping is not enough. */
  defuse?(text: string): string
  /** Size of a character or link. Default: length of the written text. */
  sizeOf?(shown: string, written: string): number
}

/** Text that fits into one message. */
export interface Part {
  readonly written: string
  readonly size: number
  readonly links: number
}

/** An escaped character or a link, which is never split. */
interface Unit {
  readonly written: string
  readonly size: number
  readonly isLink: boolean
  readonly isSpace: boolean
}

/** Maximum number of messages per item. */
const maxParts = 10
const noteSize = 60

/**
 * Writes pieces in the dialect, split into parts within its limit: after white space in the second half of a part if
 * there is any, else between characters. Text beyond ten parts is cut and replaced by a note. Returns at least one
 * part; none is blank.
 */
export function toParts(pieces: readonly Piece[], dialect: Dialect): Part[] {
  // Text beyond all parts is not processed.
  const most = maxParts * dialect.partLimit
  const units = pieces.flatMap((piece) => toUnits({ ...piece, text: piece.text.slice(0, most) }, dialect))
  const unseen = pieces.reduce((sum, { text }) => sum + Math.max(0, text.length - most), 0)
  const parts: Part[] = []
  let start = 0
  while (start < units.length) {
    const limit = parts.length === maxParts - 1 ? dialect.partLimit - noteSize : dialect.partLimit
    const end = endOfPart(units, start, limit, dialect.linksPerMessage)
    const isLast = parts.length === maxParts - 1 && end < units.length
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

function endOfPart(units: readonly Unit[], start: number, limit: number, maxLinks: number): number {
  let size = 0
  let links = 0
  let end = start
  for (; end < units.length; end++) {
    const unit = units[end]
    if (unit === undefined) break
    size += unit.size
    if (unit.isLink) links++
    // The first unit always fits.
    if ((size > limit || links > maxLinks) && end > start) break
  }
  if (end === units.length) return end
  for (let at = end; at > start + (end - start) / 2; at--) if (units[at - 1]?.isSpace === true) return at
  return end
}

/** Trims white space; undefined if nothing is left. */
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

/** The parts of one item, in order. */
export interface Split {
  readonly id: string
  readonly parts: readonly Part[]
}

/** One message: several items with one part each, or one part of an item with several. */
export interface Outgoing {
  readonly parts: readonly string[]
  readonly ids: readonly string[]
  /** Index of the part of an item with several; else 0. */
  readonly index: number
  /** True if it completes its items. */
  readonly isLast: boolean
}

/** Joins items into as few messages as possible, in order. An item with several parts gets separate messages. */
export function toMessages(items: readonly Split[], dialect: Dialect): Outgoing[] {
  const messages: Outgoing[] = []
  let open: { readonly ids: string[]; readonly parts: string[]; size: number; links: number } | undefined
  const close = () => {
    if (open !== undefined) messages.push({ parts: open.parts, ids: open.ids, index: 0, isLast: true })
    open = undefined
  }
  for (const { id, parts } of items) {
    const [first, second] = parts
    if (first === undefined) continue
    if (second !== undefined) {
      close()
      for (const [index, { written }] of parts.entries())
        messages.push({ parts: [written], ids: [id], index, isLast: index === parts.length - 1 })
      continue
    }
    const fits =
      open !== undefined &&
      open.size + 1 + first.size <= dialect.limit &&
      open.links + first.links <= dialect.linksPerMessage &&
      open.parts.length < dialect.partsPerMessage
    if (!fits) close()
    open ??= { ids: [], parts: [], size: -1, links: 0 }
    open.ids.push(id)
    open.parts.push(first.written)
    open.size += 1 + first.size
    open.links += first.links
  }
  close()
  return messages
}

/** The sent parts of items whose send failed. */
export interface Progress {
  isSent(id: string): boolean
  /** Number of sent parts of an item. */
  partsSent(id: string): number
  sent(message: Pick<Outgoing, 'ids' | 'index' | 'isLast'>): void
  forget(ids: readonly string[]): void
}

/** Beyond this the oldest are forgotten, and may be sent twice. */
const maxRemembered = 10_000

/** Keeps the progress in memory. It is empty after a restart. */
export function createProgress(): Progress {
  const parts = new Map<string, number>()
  return {
    isSent: (id) => parts.get(id) === Infinity,
    partsSent: (id) => parts.get(id) ?? 0,
    sent({ ids, index, isLast }) {
      for (const id of ids) parts.set(id, isLast ? Infinity : index + 1)
      for (const id of parts.keys()) {
        if (parts.size <= maxRemembered) break
        parts.delete(id)
      }
    },
    forget(ids) {
      for (const id of ids) parts.delete(id)
    },
  }
}
