import type { Inbox } from '../inbox/port.ts'
import type { StoredFacts } from './facts.ts'
import { findSilences } from './silence.ts'

/** Handlers with dead letters that are asked about. */
const mostAsked = 20

/** What the store and the index know, by a bounded number of bounded reads. Rejects while they cannot be read. */
export async function gatherStored(inbox: Inbox, now: number): Promise<StoredFacts> {
  const [stats, gaps, index, cadences, drift, secretUses, quarantine, conflicts] = await Promise.all([
    inbox.stats(),
    inbox.gaps(),
    inbox.indexStatus(),
    inbox.cadences(),
    inbox.drift(),
    inbox.secretUses(),
    inbox.quarantine({ limit: 1 }),
    inbox.conflicts({ limit: 1 }),
  ])
  const withDead = stats.handlers.filter(({ dead, held }) => dead + held > 0).slice(0, mostAsked)
  const newestDead = await Promise.all(
    withDead.map(async ({ handler }) => {
      const { data } = await inbox.deadLetters({ handler, limit: 1 })
      return data.map(({ diedAt }) => [handler, diedAt] as const)
    }),
  )
  return {
    stats,
    newestDeadAt: new Map(newestDead.flat()),
    newestQuarantinedAt: quarantine.data[0]?.receivedAt ?? null,
    newestConflictAt: conflicts.data[0]?.receivedAt ?? null,
    gaps,
    index,
    silences: findSilences(cadences, gaps, now),
    drift,
    secretUses,
  }
}
