import type { Dialect, Part } from './split.ts'

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
