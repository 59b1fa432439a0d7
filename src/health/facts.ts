import type { InternalEventType } from '../../schema/internal.ts'
import type { GapRecord, Inbox, InboxStats, SecretUse } from '../inbox/port.ts'
import type { DriftRecord } from './drift.ts'
import type { RejectionCounts, SenderMeter } from './meter.ts'
import type { Sender } from './senders.ts'
import type { Cadence, Cadences, Silence } from './silence.ts'

export const warningLevels = ['critical', 'warning', 'info'] as const

/** A condition that needs attention. `code` and `subject` together identify it. */
export interface Warning {
  /** Stable code, such as `ack_slow`. */
  readonly code: string
  /** Distinguishes warnings with the same code, such as the name of a handler; empty if there can be only one. */
  readonly subject: string
  readonly level: (typeof warningLevels)[number]
  /** One line, without external text. */
  readonly title: string
  /** Explanation and advice. */
  readonly text: string
  /** Milliseconds since 1970. */
  readonly since: number
  /** Path in the console, such as `/dead-letters`. */
  readonly href: string | null
}

/** Facts of this process that need no read of the store. */
export interface ProcessFacts {
  readonly now: number
  readonly startedAt: number
  /** Not ok: a commit can't succeed, or the disk guard rejects it. */
  readonly store: { readonly ok: true } | { readonly ok: false; readonly reason: string; readonly full?: boolean }
  /** Free bytes of the database's disk; null: unknown, or not guarded. */
  readonly freeBytes: number | null
  readonly reserveBytes: number
  /** One per source. */
  readonly senders: readonly SenderFacts[]
  /** Names of the loaded handlers. */
  readonly handlers: readonly string[]
  /** Sinks that send nothing for now, by name. */
  readonly openBreakers: ReadonlyMap<string, OpenSinkBreaker>
  readonly secretLabels: readonly string[]
  readonly drift: readonly DriftRecord[]
}

export interface SenderFacts {
  readonly sender: Sender
  /** Meters of the last five minutes and of the last hour. */
  readonly lastMinutes: SenderMeter
  readonly lastHour: SenderMeter
  /** Requests without a valid signature, in the same two periods. */
  readonly mismatches: number
  readonly mismatchesLastHour: number
  /** Requests of the last five minutes that were permanently rejected and may be deliveries. */
  readonly rejections: RejectionCounts
  /** Valid signatures with a time in the last minute. `old`: how many of these times are too old. */
  readonly signatures: { readonly signed: number; readonly old: number }
}

export interface OpenSinkBreaker {
  readonly reason: 'breaker' | 'pause'
  readonly since: number
  readonly failures: number
}

/** Facts read from the store. */
export interface StoredFacts {
  readonly stats: InboxStats
  /** Time of the newest dead letter by handler; a handler is missing if its newest one was not found. */
  readonly newestDeadAt: ReadonlyMap<string, number>
  /** Null: there are none. */
  readonly newestQuarantinedAt: number | null
  readonly newestConflictAt: number | null
  readonly gaps: readonly GapRecord[]
  readonly silences: readonly Silence[]
  readonly secretUses: readonly SecretUse[]
}

/** A warning found by a rule; the watch adds `since`. */
export type FoundWarning = Omit<Warning, 'since'>

/** Result of a rule, with a subject if it can find several; null: nothing found. */
export type Finding = (Omit<FoundWarning, 'subject'> & { readonly subject?: string }) | null

/** Results of the previous check. */
export interface Previous {
  /** When the warning began; null: it is not active. */
  since(code: string, subject?: string): number | null
  /** Null: the warning is not active. */
  level(code: string, subject?: string): Warning['level'] | null
}

/** Maximum handlers whose dead letters are read. */
const maxHandlers = 20

/** Maximum dead letters read per handler, to find the newest relevant one. */
const maxDeadLetters = 10

/** Facts read from the store, and the cadences of which silences are computed. */
export type StoredReading = Omit<StoredFacts, 'silences'> & { readonly cadences: readonly Cadence[] }

/** Reads the facts of the store, with a bounded number of bounded reads. Rejects if the store can't be read. */
export async function readStored(inbox: Inbox, now: number, cadences: Cadences): Promise<StoredReading> {
  const [stats, gaps, read, secretUses, quarantine, conflicts] = await Promise.all([
    inbox.stats(),
    inbox.gaps(),
    cadences.read(inbox, now),
    inbox.secretUses(),
    inbox.quarantine({ limit: 1 }),
    inbox.conflicts({ limit: 1 }),
  ])
  const withDead = stats.handlers.filter(({ dead, held }) => dead + held > 0).slice(0, maxHandlers)
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
    cadences: read,
    secretUses,
  }
}

const warningEndType: InternalEventType = 'inbox.resolved'

/**
 * Time of the newest dead letter; null if it was not found within the limit, 0 if none counts. A failed notification
 * that a warning ended doesn't count: it would cause a new warning, whose end would fail again, and so on.
 */
async function newestDeath(inbox: Inbox, handler: string): Promise<number | null> {
  const { data, nextCursor } = await inbox.deadLetters({ handler, limit: maxDeadLetters })
  const newest = data.find(({ type }) => type !== warningEndType)
  if (newest !== undefined) return newest.diedAt
  return data.length === 0 && nextCursor !== null ? null : 0
}
