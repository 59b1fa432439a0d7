import type { Demand } from './demand.ts'
import { inputs } from './inputs.ts'

export type StoreName = 'sqlite' | 'postgres'

/** Bytes that one event takes. */
export interface EventBytes {
  /** As long as its body is kept, with its runs and what search needs. */
  readonly kept: number
  /** For ever after that: its id, type, time and address. */
  readonly pruned: number
}

/** Bytes on the disk at the end of the first year, free room in the files included. */
export interface Disk {
  readonly total: number
  /** Of events with their bodies. */
  readonly kept: number
  /** Of events whose bodies are pruned. */
  readonly pruned: number
  /** What each further year adds. */
  readonly perYear: number
}

const year = 365

export function eventBytes(store: StoreName, { bodyBytes, handlers }: Demand): EventBytes {
  if (store === 'sqlite') {
    const { sqliteEventBytes, sqliteBodyExtraBytes, sqliteRunBytes, indexBytes, sqlitePrunedBytes, sqliteSlack } =
      inputs
    const body = bodyBytes + sqliteBodyExtraBytes.value
    const kept = sqliteEventBytes.value + body + handlers * sqliteRunBytes.value + indexBytes.value
    return { kept: kept * sqliteSlack.value, pruned: sqlitePrunedBytes.value * sqliteSlack.value }
  }
  const { postgresEventBytes, postgresRunBytes, postgresIndexBytes, postgresSlack } = inputs
  const kept =
    postgresEventBytes.value + postgresBody(bodyBytes) + handlers * postgresRunBytes.value + postgresIndexBytes.value
  return { kept: kept * postgresSlack.value, pruned: postgresEventBytes.value * postgresSlack.value }
}

function postgresBody(bytes: number): number {
  const { postgresLargeBody, postgresLargeBodyFactor, postgresBodyExtraBytes } = inputs
  return bytes >= postgresLargeBody.value ? bytes * postgresLargeBodyFactor.value : bytes + postgresBodyExtraBytes.value
}

export function diskOf(store: StoreName, demand: Demand): Disk {
  const { eventsPerDay, retentionDays } = demand
  const bytes = eventBytes(store, demand)
  const keptDays = retentionDays === 0 ? year : Math.min(retentionDays, year)
  const kept = eventsPerDay * keptDays * bytes.kept
  const pruned = eventsPerDay * (year - keptDays) * bytes.pruned
  const isKept = retentionDays === 0 || retentionDays >= year
  return { total: kept + pruned, kept, pruned, perYear: eventsPerDay * year * (isKept ? bytes.kept : bytes.pruned) }
}
