import type { EventSummary, ViewPort } from '../inbox/port.ts'
import type { ChangedToldJson } from './answers/stream.ts'
import type { Watch } from './teller.ts'

type Changed = ChangedToldJson['what'][number]

/** Of each list a text that is another once it changed. */
export type Marks = Readonly<Partial<Record<Changed, string>>>

const mostTold = 50

/** Events that came since the last look, the newest first, at most 50, and how many more there were. */
export function watchEvents(inbox: Pick<ViewPort, 'events'>, toJson: (event: EventSummary) => object): () => Watch {
  return () => {
    let seen: number | null = null
    return async () => {
      const { data } = await inbox.events({ limit: seen === null ? 1 : mostTold })
      const newest = data[0]?.seq ?? 0
      const before = seen ?? newest
      seen = newest
      const fresh = data.filter(({ seq }) => seq > before)
      if (fresh.length === 0) return null
      return { data: fresh.map(toJson), skipped: newest - before - fresh.length }
    }
  }
}

/** The overview, wherever more than its time is another. */
export function watchOverview(overview: () => Promise<object>): () => Watch {
  return () => {
    let last: string | null = null
    return async () => {
      const told = await overview()
      const text = JSON.stringify({ ...told, now: null })
      const isNew = text !== last
      last = text
      return isNew ? told : null
    }
  }
}

/** Of which lists something changed, by their marks. */
export function watchChanges(readMarks: () => Promise<Marks>): () => Watch {
  return () => {
    let last: Marks | null = null
    return async () => {
      const marks = await readMarks()
      const before = last ?? marks
      last = marks
      const what = changedNames.filter((name) => marks[name] !== before[name])
      return what.length === 0 ? null : { what }
    }
  }
}

const changedNames = [
  'handlers',
  'dead-letters',
  'quarantine',
  'replays',
  'rejects',
  'health',
  'audit',
] as const satisfies readonly Changed[]

export interface MarksOptions {
  readonly inbox: Pick<ViewPort, 'stats' | 'deadLetters' | 'quarantine' | 'replays' | 'audit'>
  /** Requests that were refused for good, since the start. */
  readonly rejects?: { count(): number } | undefined
  /** What needs a look. */
  readonly watch?: { warnings(): readonly object[] } | undefined
}

/** How many of the newest replays may still go on. */
const replaysLookedAt = 20

/** Of lists that only grow, or are taken from, count and newest tell; of those whose rows change, the rows themselves. */
export async function readMarks({ inbox, rejects, watch }: MarksOptions): Promise<Marks> {
  const [stats, dead, quarantine, replays, audit] = await Promise.all([
    inbox.stats(),
    inbox.deadLetters({ limit: 1 }),
    inbox.quarantine({ limit: 1 }),
    inbox.replays({ limit: replaysLookedAt }),
    inbox.audit({ limit: 1 }),
  ])
  const [newestDead] = dead.data
  return {
    handlers: JSON.stringify([stats.paused, stats.handlers]),
    'dead-letters': JSON.stringify([
      newestDead?.runId,
      newestDead?.attempt,
      stats.handlers.map((handler) => handler.dead + handler.held),
    ]),
    quarantine: JSON.stringify([quarantine.data[0]?.id, stats.quarantined]),
    replays: JSON.stringify(replays.data),
    rejects: String(rejects?.count() ?? ''),
    health: JSON.stringify([watch?.warnings() ?? [], stats.missingSeqs]),
    // A large act that goes on is counted up in its note.
    audit: JSON.stringify(audit.data.map(({ id, detail }) => [id, detail])),
  }
}
