import { addToCadence, type CadenceCounts } from '../insight/cadence.ts'
import { isFoundBy } from '../insight/event-text.ts'
import { readForIndex } from '../insight/read.ts'
import { wordsAsked } from '../insight/words.ts'
import { bucketOf, checkActivity, mostDrift, mostKinds, mostWallets, otherKinds } from './index-limits.ts'
import type { Activity, Cadence, DriftRecord, IndexPort, KnownWallet, SecretUse } from './index-port.ts'
import { ownLabel, type NewEvent } from './port.ts'

interface Entry {
  readonly seq: number
  readonly event: NewEvent
  /** Null until it is pruned. */
  readonly finalStatus: string | null
}

interface Kind {
  readonly type: string
  readonly network: string | null
}

type Counts = ReturnType<typeof noCounts>

function noCounts() {
  return {
    seq: 0,
    kinds: new Map<string, Kind>(),
    cadences: new Map<Kind, CadenceCounts>(),
    tallies: new Map<number, Map<Kind, number>>(),
    drift: new Map<string, DriftRecord>(),
    secrets: new Map<string, SecretUse>(),
    wallets: new Map<string, KnownWallet>(),
  }
}

export type MemoryIndex = Omit<IndexPort, 'rebuildIndex'> & {
  /** To be called before something is taken from the entries. */
  bringUp(): void
  /** Whether the words of a search stand in an event. */
  isFound(entry: Entry, query: string): boolean
  rebuild(): void
}

/** The index of an inbox in memory: counts are brought up to the entries by each read, words are looked for in the bodies. */
export function createMemoryIndex(entries: readonly Entry[]): MemoryIndex {
  let counts = noCounts()

  function bringUp(): void {
    for (const entry of entries.slice(counts.seq)) add(counts, entry)
  }

  function read<T>(of: (counts: Counts) => T): T {
    bringUp()
    return of(counts)
  }

  return {
    bringUp,
    isFound({ event, finalStatus }, query) {
      const asked = wordsAsked(query)
      return asked.length === 0 || (finalStatus === null && isFoundBy(asked, event.raw, event))
    },
    rebuild() {
      counts = noCounts()
    },
    indexStatus: async () =>
      read(({ seq }) => ({ state: 'current', reason: null, indexedSeq: seq, behind: 0, lagMs: 0, sizeBytes: null })),
    async activity(query) {
      checkActivity(query)
      return read(({ tallies }) => activityOf(tallies, query))
    },
    cadences: async () =>
      read(({ cadences }) => {
        return [...cadences].map(([kind, counted]): Cadence => ({ ...kind, ...counted })).toSorted(byKind)
      }),
    drift: async () => read(({ drift }) => [...drift.values()].toSorted(newestDrift).slice(0, mostDrift)),
    secretUses: async () => read(({ secrets }) => [...secrets.values()].toSorted((a, b) => compare(a.label, b.label))),
    knownWallets: async () => read(({ wallets }) => [...wallets.values()].toSorted(newestWallet).slice(0, mostWallets)),
  }

  function activityOf(tallies: Counts['tallies'], query: Parameters<IndexPort['activity']>[0]): Activity[] {
    const found = new Map<string, Activity>()
    for (const [minute, ofMinute] of tallies) {
      const at = bucketOf(minute, query.bucketMs)
      if (minute < bucketOf(query.from, 60_000) || minute >= query.to) continue
      for (const [kind, count] of ofMinute) {
        const key = JSON.stringify([at, kind.type, kind.network])
        found.set(key, { at, ...kind, count: count + (found.get(key)?.count ?? 0) })
      }
    }
    return [...found.values()].toSorted((a, b) => a.at - b.at || byKind(a, b))
  }

  function add(to: Counts, { seq, event, finalStatus }: Entry): void {
    const { id, type, network, address, receivedAt, secretLabel } = event
    to.seq = seq
    const kind = kindOf(to, type, network)
    to.cadences.set(kind, addToCadence(to.cadences.get(kind), receivedAt))
    const minute = bucketOf(receivedAt, 60_000)
    const tally = to.tallies.get(minute) ?? new Map<Kind, number>()
    to.tallies.set(minute, tally.set(kind, (tally.get(kind) ?? 0) + 1))
    if (secretLabel !== ownLabel) {
      const use = to.secrets.get(secretLabel)
      to.secrets.set(secretLabel, { label: secretLabel, ...widened(use, receivedAt) })
    }
    if (type.startsWith('wallet.') && network !== null && address !== null) {
      const key = `${network}:${address}`
      const lastAt = Math.max(receivedAt, to.wallets.get(key)?.lastAt ?? receivedAt)
      to.wallets.set(key, { network, address, lastAt })
    }
    const findings = finalStatus === null ? readForIndex(event.raw, { id, type }).drift : []
    for (const { kind: driftKind, path, expected, example } of findings) {
      const key = JSON.stringify([driftKind, type, path])
      const known = to.drift.get(key) ?? { kind: driftKind, type, path, expected, example, firstEventId: id }
      const counted = widened('count' in known ? known : undefined, receivedAt)
      to.drift.set(key, { ...known, ...counted })
    }
  }

  function kindOf(to: Counts, type: string, network: string | null): Kind {
    const key = JSON.stringify([type, network])
    const known = to.kinds.get(key)
    if (known !== undefined) return known
    if (to.kinds.size >= mostKinds && type !== otherKinds) return kindOf(to, otherKinds, null)
    const kind = { type, network }
    to.kinds.set(key, kind)
    return kind
  }
}

interface Span {
  readonly firstAt: number
  readonly lastAt: number
  readonly count: number
}

function widened(known: Span | undefined, at: number): Span {
  if (known === undefined) return { firstAt: at, lastAt: at, count: 1 }
  return { firstAt: known.firstAt, lastAt: Math.max(known.lastAt, at), count: known.count + 1 }
}

function byKind(a: Kind, b: Kind): number {
  return compare(a.type, b.type) || compare(a.network ?? '', b.network ?? '')
}

function newestDrift(a: DriftRecord, b: DriftRecord): number {
  return b.lastAt - a.lastAt || compare(a.kind, b.kind) || compare(a.type, b.type) || compare(a.path, b.path)
}

function newestWallet(a: KnownWallet, b: KnownWallet): number {
  return b.lastAt - a.lastAt || compare(a.network, b.network) || compare(a.address, b.address)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
