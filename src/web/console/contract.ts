// What the admin API answers below /api/v1, under the names of its answers. Times are ISO strings in UTC.

export type { AttemptJson, EventDetailJson, EventListJson, EventSummaryJson, RunJson } from '../../admin/events.ts'
export type { HandlerJson, HandlerListJson } from '../../admin/handlers.ts'
export type {
  AuditJson,
  DriftJson,
  GapJson,
  HealthJson,
  ReplicaJson,
  SecretUseJson,
  SenderMeterJson,
  SettingsJson,
  SilenceJson,
  WarningJson,
} from '../../admin/health.ts'
export type { ActivityJson, OverviewJson } from '../../admin/overview.ts'
export type { ReconcileJson } from '../../admin/reconcile.ts'
export type { SessionJson } from '../../admin/session.ts'
export type { SubscriptionJson } from '../../admin/subscription.ts'
export type { ConflictDetailJson, ConflictJson } from '../../admin/conflicts.ts'
export type { DeadGroupsJson, DeadLetterJson, DroppedJson, RequeuedJson } from '../../admin/dead-letters.ts'
export type {
  QuarantinedDetailJson,
  QuarantinedJson,
  QuarantineGroupsJson,
  RetriedJson,
} from '../../admin/quarantine.ts'
export type { RejectExplanationJson, RejectGroupJson, RejectListJson } from '../../admin/rejects.ts'
export type { ReplayCountJson, ReplayJson } from '../../admin/replays.ts'
export type {
  ChangedMessageJson as ChangedToldJson,
  EventsMessageJson as EventsToldJson,
  StreamKind,
} from '../../admin/stream.ts'

/** A page of a list. */
export interface ListJson<T> {
  readonly data: readonly T[]
  /** Gives the next page as `cursor`; null on the last one. */
  readonly next_cursor: string | null
}
