/** A piece of a message before it is written in the dialect of a service. */
export interface Piece {
  readonly text: string
  /** Target of a link. */
  readonly url?: string
  /** True for external text, which must not become a link or mention. */
  readonly isForeign?: boolean
}

export const plain = (text: string): Piece => ({ text })
export const foreign = (text: string): Piece => ({ text, isForeign: true })

/** Joins groups of pieces: `a · b · c`. */
export function joined(groups: readonly (readonly Piece[])[]): Piece[] {
  return groups
    .filter((group) => group.length > 0)
    .flatMap((group, index) => (index === 0 ? group : [plain(' · '), ...group]))
}

/** Syntax and limits of a chat service's messages. */
export interface Dialect {
  /** Maximum size of one item. */
  readonly itemLimit: number
  /** Maximum size of a message: its items, with one character between them. */
  readonly messageLimit: number
  readonly itemsPerMessage: number
  readonly linksPerMessage: number
  /** Escapes one character. */
  escape(character: string): string
  link(label: string, url: string): string
  /** Changes external text so that it becomes no link or mention, where escaping is not enough. */
  defuse?(text: string): string
  /** Size of a character or link. Default: length of the written text. */
  sizeOf?(shown: string, written: string): number
}

/** The written text of one item. */
export interface Entry {
  readonly written: string
  readonly size: number
  readonly links: number
}

const ellipsis: Entry = { written: '…', size: 1, links: 0 }

/**
 * Writes the pieces of one item, never blank. Text above a limit is cut between characters and links, and ends in an
 * ellipsis.
 */
export function toEntry(pieces: readonly Piece[], dialect: Dialect): Entry {
  let written = ''
  let [size, links] = [0, 0]
  for (const unit of unitsOf(pieces, dialect)) {
    const isFull = size + unit.size >= dialect.itemLimit || links + unit.links > dialect.linksPerMessage
    if (isFull) return { written: written + ellipsis.written, size: size + ellipsis.size, links }
    written += unit.written
    size += unit.size
    links += unit.links
  }
  return written.trim() === '' ? ellipsis : { written, size, links }
}

/** Escaped characters, and links. Lazy, because a text may be far longer than an item. */
function* unitsOf(pieces: readonly Piece[], dialect: Dialect): Iterable<Entry> {
  const sizeOf = (shown: string, written: string) => dialect.sizeOf?.(shown, written) ?? written.length
  for (const { text, url, isForeign = false } of pieces) {
    if (url !== undefined) {
      const written = dialect.link(Array.from(text, (character) => dialect.escape(character)).join(''), url)
      yield { written, size: sizeOf(text, written), links: 1 }
      continue
    }
    const short = text.slice(0, dialect.itemLimit)
    for (const shown of ((isForeign && dialect.defuse?.(short)) || short).toWellFormed()) {
      const written = dialect.escape(shown)
      yield { written, size: sizeOf(shown, written), links: 0 }
    }
  }
}

/** Joins entries, in order, into as few messages as the limits allow. */
export function toMessages<E extends Entry>(entries: readonly E[], dialect: Dialect): E[][] {
  const messages: E[][] = []
  let [size, links] = [0, 0]
  for (const entry of entries) {
    const last = messages.at(-1)
    const isFitting =
      last !== undefined &&
      last.length < dialect.itemsPerMessage &&
      size + 1 + entry.size <= dialect.messageLimit &&
      links + entry.links <= dialect.linksPerMessage
    if (isFitting) last.push(entry)
    else messages.push([entry])
    size = entry.size + (isFitting ? size + 1 : 0)
    links = entry.links + (isFitting ? links : 0)
  }
  return messages
}
