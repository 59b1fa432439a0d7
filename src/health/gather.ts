import type { Inbox } from '../inbox/port.ts'
import type { OwnEventType } from '../../schema/own.ts'
import type { StoredFacts } from './facts.ts'
import { findSilences, type Cadences } from './silence.ts'

/** Handlers with dead letters that are asked about. */
const mostAsked = 20

/** Dead letters of a handler among which the newest is looked for that is news. */
const mostDeaths = 10

/** What the store knows, by a bounded number of bounded reads. Rejects while it can't be read. */
export async function gatherStored(inbox: Inbox, now: number, cadences: Cadences): Promise<StoredFacts> {
  const [stats, gaps, usual, secretUses, quarantine, conflicts] = await Promise.all([
    inbox.stats(),
    inbox.gaps(),
    cadences.read(inbox, now),
    inbox.secretUses(),
    inbox.quarantine({ limit: 1 }),
    inbox.conflicts({ limit: 1 }),
  ])
  const withDead = stats.handlers.filter(({ dead, held }) => dead + held > 0).slice(0, mostAsked)
  const newestDead = await Promise.all(
    withDead.map(async ({ handler }) => {
      const diedAt = await newestDeath(inbox, handler)
      return diedAt === null ? [] : [[handler, diedAt] as const]
    }),
  )
  return {
    stats,
    newestDeadAt: new Map(newestDead.flat()),
    newestQuarantinedAt: quarantine.data[0]?.receivedAt ?? null,
    newestConflictAt: conflicts.data[0]?.receivedAt ?? null,
    gaps,
    silences: findSilences(usual, gaps, now),
    secretUses,
  }
}

const endOfWarning: OwnEventType = 'inbox.resolved'

/**
 * When the newest dead letter died; null: others lie before it, and it was not reached in time. The end of a warning that cannot be
 * told is no news: or that would be told, too, and end, and so on.
 */
async function newestDeath(inbox: Inbox, handler: string): Promise<number | null> {
  const { data, nextCursor } = await inbox.deadLetters({ handler, limit: mostDeaths })
  const news = data.find(({ type }) => type !== endOfWarning)
  if (news !== undefined) return news.diedAt
  return data.length === 0 && nextCursor !== null ? null : 0
}
