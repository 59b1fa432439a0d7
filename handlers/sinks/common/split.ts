/** A piece of a message, before it is written the way a service wants it. */
export interface Piece {
  readonly text: string
  /** Where it leads, for a link. */
  readonly url?: string
  /** Of outside origin: it is to become no link and to call nobody. */
  readonly isForeign?: boolean
}

export const own = (text: string): Piece => ({ text })
export const foreign = (text: string): Piece => ({ text, isForeign: true })

/** `a · b · c`, of pieces. */
export function joined(groups: readonly (readonly Piece[])[]): Piece[] {
  return groups
    .filter((group) => group.length > 0)
    .flatMap((group, index) => (index === 0 ? group : [own(' · '), ...group]))
}

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

/** The parts of one item, in order. */
export interface Split {
  readonly id: string
  readonly parts: readonly Part[]
}

/** One message to be sent: the only part of each of some items, or one part of an item that has several. */
export interface Outgoing {
  readonly parts: readonly string[]
  readonly ids: readonly string[]
  /** Which part of an item with several; 0 otherwise. */
  readonly index: number
  /** Whether its items are complete with it. */
  readonly isLast: boolean
}

/** Puts items into as few messages as hold them, in their order. An item with several parts has messages of its own. */
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

/** What has been sent of items whose send did not end well. */
export interface Progress {
  isSent(id: string): boolean
  /** How many parts of the item have been sent. */
  partsSent(id: string): number
  sent(message: Pick<Outgoing, 'ids' | 'index' | 'isLast'>): void
  forget(ids: readonly string[]): void
}

/** Beyond that the oldest are forgotten, and would be sent again: nothing is lost. */
const mostRemembered = 10_000

/** Kept in memory: after a restart it is empty. */
export function createProgress(): Progress {
  const parts = new Map<string, number>()
  return {
    isSent: (id) => parts.get(id) === Infinity,
    partsSent: (id) => parts.get(id) ?? 0,
    sent({ ids, index, isLast }) {
      for (const id of ids) parts.set(id, isLast ? Infinity : index + 1)
      for (const id of parts.keys()) {
        if (parts.size <= mostRemembered) break
        parts.delete(id)
      }
    },
    forget(ids) {
      for (const id of ids) parts.delete(id)
    },
  }
}
