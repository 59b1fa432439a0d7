/** A piece of a message before it is written in the dialect of a service. */
export interface Piece {
  readonly text: string
  /** Target of a link. */
  readonly url?: string
  /** True for external text, which must not become a link or mention. */
  readonly isExternal?: boolean
}

export const plain = (text: string): Piece => ({ text })
export const external = (text: string): Piece => ({ text, isExternal: true })

/** Joins groups of pieces: `a · b · c`. */
export function joined(groups: readonly (readonly Piece[])[]): Piece[] {
  return groups
    .filter((group) => group.length > 0)
    .flatMap((group, index) => (index === 0 ? group : [plain(' · '), ...group]))
}

/** Syntax and limits of a chat service's messages. */
export interface Dialect {
  /** Maximum size of an entry, in `sizeOf` units. */
  readonly entryLimit: number
  /** Maximum size of a message: its entries, with one character between them. In `sizeOf` units. */
  readonly messageLimit: number
  readonly entriesPerMessage: number
  readonly linksPerMessage: number
  /** Escapes one character. */
  escape(character: string): string
  link(label: string, url: string): string
  /** Changes external text so that it becomes no link or mention, where escaping is not enough. */
  defuse?(text: string): string
  /** Size of a character or link. Default: length of the written text. */
  sizeOf?(shown: string, written: string): number
}

/** Written text of an item, or a part of it. */
export interface Entry {
  readonly written: string
  readonly size: number
  readonly links: number
}

const ellipsis: Entry = { written: '…', size: 1, links: 0 }
/** Maximum number of entries of one item. */
const maxEntries = 10

/**
 * Writes the pieces of one item. Text above the limits is split after white space, or else between characters. Text above
 * ten entries is cut. Returns at least one entry, none of them blank.
 */
export function toEntries(pieces: readonly Piece[], dialect: Dialect): Entry[] {
  const entries: Entry[] = []
  let units: Entry[] = []
  let { size, links } = concat(units)
  const hasRoom = (before: Pick<Entry, 'size' | 'links'>, unit: Entry) =>
    before.size + unit.size <= dialect.entryLimit && before.links + unit.links <= dialect.linksPerMessage
  for (const unit of unitsOf(pieces, dialect)) {
    if (!hasRoom({ size, links }, unit)) {
      if (entries.length === maxEntries - 1) {
        units = [...units.slice(0, -1), ellipsis]
        break
      }
      const afterSpace = units.findLastIndex(({ written }) => /^\s$/.test(written)) + 1
      // An early white space may leave too much text for the unit to be added to.
      const end = hasRoom(concat(units.slice(afterSpace)), unit) ? afterSpace : units.length
      entries.push(concat(units.slice(0, end)))
      units = units.slice(end)
      ;({ size, links } = concat(units))
    }
    units.push(unit)
    size += unit.size
    links += unit.links
  }
  const shown = [...entries, concat(units)].filter(({ written }) => written.trim() !== '')
  return shown.length > 0 ? shown : [ellipsis]
}

function concat(units: readonly Entry[]): Entry {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
  return {
    written: units.map(({ written }) => written).join(''),
    size: sum(units.map(({ size }) => size)),
    links: sum(units.map(({ links }) => links)),
  }
}

/** Escaped characters, and links: they are never split. */
function* unitsOf(pieces: readonly Piece[], dialect: Dialect): Iterable<Entry> {
  const sizeOf = (shown: string, written: string) => dialect.sizeOf?.(shown, written) ?? written.length
  for (const { text, url, isExternal = false } of pieces) {
    if (url !== undefined) {
      const written = dialect.link(Array.from(text, (character) => dialect.escape(character)).join(''), url)
      yield { written, size: sizeOf(text, written), links: 1 }
      continue
    }
    // Longer text is cut anyway.
    const short = text.slice(0, maxEntries * dialect.entryLimit + 1)
    for (const shown of ((isExternal && dialect.defuse?.(short)) || short).toWellFormed()) {
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
      last.length < dialect.entriesPerMessage &&
      size + 1 + entry.size <= dialect.messageLimit &&
      links + entry.links <= dialect.linksPerMessage
    if (isFitting) last.push(entry)
    else messages.push([entry])
    size = entry.size + (isFitting ? size + 1 : 0)
    links = entry.links + (isFitting ? links : 0)
  }
  return messages
}
