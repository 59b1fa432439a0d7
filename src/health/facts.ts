import type { OwnEventType } from '../../schema/own.ts'
import type { GapRecord, Inbox, InboxStats, SecretUse } from '../inbox/port.ts'
import type { DriftRecord } from './drift.ts'
import type { RejectionCounts } from './meter.ts'
import type { SenderMeter, Silence, Warning } from './port.ts'
import { findSilences, type Cadences } from './silence.ts'

/** What is known without asking the store. */
export interface ProcessFacts {
  readonly now: number
  readonly startedAt: number
  readonly store: { readonly ok: true } | { readonly ok: false; readonly reason: string; readonly full?: boolean }
  /** Of the disk of the database; null: not known, or not guarded. */
  readonly freeBytes: number | null
  readonly reserveBytes: number
  /** Of the last five minutes, and of the last hour. */
  readonly lately: SenderMeter
  readonly lastHour: SenderMeter
  /** Requests that were signed with a secret that is not ours, of the same times. */
  readonly mismatches: number
  readonly mismatchesLastHour: number
  /** What the sender may have sent, and was refused for good in the last five minutes. */
  readonly rejections: RejectionCounts
  /** Names of the handlers that are loaded. */
  readonly handlers: readonly string[]
  /** Sinks that are left alone, by name. */
  readonly shut: ReadonlyMap<string, ShutSink>
  readonly secretLabels: readonly string[]
  readonly drift: readonly DriftRecord[]
}

export interface ShutSink {
  readonly reason: 'breaker' | 'pause'
  readonly since: number
  readonly failures: number
}

/** What is known from the store. */
export interface StoredFacts {
  readonly stats: InboxStats
  /** When the newest dead letter of a handler died, for those that have any; not of those where that is not known. */
  readonly newestDeadAt: ReadonlyMap<string, number>
  readonly newestQuarantinedAt: number | null
  readonly newestConflictAt: number | null
  readonly gaps: readonly GapRecord[]
  readonly silences: readonly Silence[]
  readonly secretUses: readonly SecretUse[]
}

/** A warning as a rule finds it: since when is for the watch to know. */
export type Found = Omit<Warning, 'since'>

/** What a rule finds, with a subject where there may be several; null: nothing. */
export type Finding = (Omit<Found, 'subject'> & { readonly subject?: string }) | null

/** What was found the last time: since when a warning is on; null: it is not. */
export interface Before {
  since(code: string, subject?: string): number | null
  /** Null: it is not on. */
  level(code: string, subject?: string): Warning['level'] | null
}

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
