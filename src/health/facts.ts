import type { GapRecord, InboxStats, SecretUse } from '../inbox/port.ts'
import type { DriftRecord } from './drift.ts'
import type { RejectionCounts } from './meter.ts'
import type { SenderMeter, Silence, Warning } from './port.ts'

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

/** What was found the last time: since when a warning is on; null: it is not. */
export interface Before {
  since(code: string, subject?: string): number | null
  /** Null: it is not on. */
  level(code: string, subject?: string): Warning['level'] | null
}
