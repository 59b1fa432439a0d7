import { checkActivity } from '../../index-limits.ts'
import type { ActivityQuery } from '../../index-port.ts'
import type { IndexHandle } from './handle.ts'
import type { IndexReads } from './reads.ts'

export type IndexViews = Pick<IndexReads, 'activity' | 'cadences' | 'drift' | 'secretUses' | 'knownWallets'>

/** What the index knows by itself; nothing where there is none. */
export function createIndexViews(index: IndexHandle | null): IndexViews {
  return {
    activity(query: ActivityQuery) {
      checkActivity(query)
      return index?.read((reads) => reads.activity(query)) ?? []
    },
    cadences: () => index?.read((reads) => reads.cadences()) ?? [],
    drift: () => index?.read((reads) => reads.drift()) ?? [],
    secretUses: () => index?.read((reads) => reads.secretUses()) ?? [],
    knownWallets: () => index?.read((reads) => reads.knownWallets()) ?? [],
  }
}
