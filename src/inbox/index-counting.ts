import { addToCadence, type CadenceCounts } from './insight/cadence.ts'
import type { DriftFinding } from './insight/drift.ts'
import { mostKinds, otherKinds } from './index-limits.ts'
import type { DriftRecord, KnownWallet, SecretUse } from './index-port.ts'
import { ownLabel } from './port.ts'

/** An event as it is stored, to be read for the index. */
export interface EventToIndex {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly key: string | null
  readonly receivedAt: number
  readonly secretLabel: string
  /** Null where it was pruned. */
  readonly raw: Buffer | null
}

/** An event as it is counted. */
export interface CountedEvent {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly network: string | null
  readonly address: string | null
  readonly receivedAt: number
  readonly secretLabel: string
  readonly drift: readonly DriftFinding[]
}

/** A number for a pair of type and network. */
export interface Kind {
  readonly id: number
  readonly type: string
  readonly network: string | null
}

export type KindCadence = CadenceCounts & { readonly kindId: number }

interface Span {
  readonly count: number
  readonly minSeq: number
  readonly maxSeq: number
}

/** What a batch adds to an index, each row once. Cadences take the place of those before, all else is added to what is there. */
export interface Counted {
  readonly kinds: readonly Kind[]
  /** By minute of receipt (since 1970) and kind. */
  readonly tallies: readonly (Span & { readonly minute: number; readonly kindId: number })[]
  readonly hours: readonly (Span & { readonly hour: number })[]
  readonly cadences: readonly KindCadence[]
  readonly drift: readonly DriftRecord[]
  readonly secrets: readonly SecretUse[]
  readonly wallets: readonly KnownWallet[]
}

/**
 * Counts events for an index that holds such kinds and cadences, and goes on from there. Whoever could not write what a batch adds has to
 * begin anew with what is stored.
 */
export function createCounting(knownKinds: readonly Kind[], knownCadences: readonly KindCadence[]) {
  const kinds = new Map(knownKinds.map(({ id, type, network }) => [kindKey(type, network), id]))
  const cadences = new Map<number, CadenceCounts>(knownCadences.map(({ kindId, ...counts }) => [kindId, counts]))

  /** Types come from outside: of too many pairs, the later ones are counted together. */
  function kindOf(type: string, network: string | null, added: Kind[]): number {
    const known = kinds.get(kindKey(type, network))
    if (known !== undefined) return known
    if (kinds.size >= mostKinds && type !== otherKinds) return kindOf(otherKinds, null, added)
    const id = kinds.size + 1
    added.push({ id, type, network })
    kinds.set(kindKey(type, network), id)
    return id
  }

  return (batch: readonly CountedEvent[]): Counted => {
    const added: Kind[] = []
    const tallies = new Map<string, Counted['tallies'][number]>()
    const hours = new Map<number, Counted['hours'][number]>()
    const changed = new Map<number, KindCadence>()
    const drift = new Map<string, DriftRecord>()
    const secrets = new Map<string, SecretUse>()
    const wallets = new Map<string, KnownWallet>()
    for (const { seq, id, type, network, address, receivedAt, secretLabel, drift: findings } of batch) {
      const kindId = kindOf(type, network, added)
      const minute = Math.floor(receivedAt / 60_000)
      const hour = Math.floor(minute / 60)
      const tally = `${minute} ${kindId}`
      tallies.set(tally, { minute, kindId, ...widened(tallies.get(tally), seq) })
      hours.set(hour, { hour, ...widened(hours.get(hour), seq) })
      const cadence = addToCadence(cadences.get(kindId), receivedAt)
      cadences.set(kindId, cadence)
      changed.set(kindId, { kindId, ...cadence })
      if (secretLabel !== ownLabel) {
        secrets.set(secretLabel, { label: secretLabel, ...used(secrets.get(secretLabel), receivedAt) })
      }
      if (type.startsWith('wallet.') && network !== null && address !== null) {
        const wallet = `${network}:${address}`
        const lastAt = Math.max(receivedAt, wallets.get(wallet)?.lastAt ?? receivedAt)
        wallets.set(wallet, { network, address, lastAt })
      }
      for (const { kind, path, expected, example } of findings) {
        const key = JSON.stringify([kind, type, path])
        const known = drift.get(key)
        const first = known ?? { kind, type, path, expected, example, firstEventId: id }
        drift.set(key, { ...first, ...used(known, receivedAt) })
      }
    }
    return {
      kinds: added,
      tallies: [...tallies.values()],
      hours: [...hours.values()],
      cadences: [...changed.values()],
      drift: [...drift.values()],
      secrets: [...secrets.values()],
      wallets: [...wallets.values()],
    }
  }
}

function kindKey(type: string, network: string | null): string {
  return JSON.stringify([type, network])
}

function widened(span: Span | undefined, seq: number): Span {
  const { count, minSeq, maxSeq } = span ?? { count: 0, minSeq: seq, maxSeq: seq }
  return { count: count + 1, minSeq: Math.min(minSeq, seq), maxSeq: Math.max(maxSeq, seq) }
}

function used(known: Pick<SecretUse, 'firstAt' | 'lastAt' | 'count'> | undefined, at: number) {
  const { firstAt, lastAt, count } = known ?? { firstAt: at, lastAt: at, count: 0 }
  return { firstAt, lastAt: Math.max(lastAt, at), count: count + 1 }
}
