// What the admin API answers below /api/v1, under the names of its answers. Times are ISO strings in UTC.

export type { AttemptJson, EventDetailJson, EventListJson, EventSummaryJson, RunJson } from '../admin/answers/events.ts'
export type { HandlerJson, HandlerListJson } from '../admin/answers/handlers.ts'
export type {
  ActivityJson,
  AuditJson,
  DriftJson,
  GapJson,
  HealthJson,
  IndexStatusJson,
  OverviewJson,
  ReconcileJson,
  ReplicaJson,
  SecretUseJson,
  SenderMeterJson,
  SessionJson,
  SettingsJson,
  SilenceJson,
  SubscriptionJson,
  WarningJson,
} from '../admin/answers/health.ts'
export type {
  ConflictDetailJson,
  ConflictJson,
  DeadGroupsJson,
  DeadLetterJson,
  DroppedJson,
  QuarantinedDetailJson,
  QuarantinedJson,
  QuarantineGroupsJson,
  RejectExplanationJson,
  RejectGroupJson,
  RejectListJson,
  ReplayCountJson,
  ReplayJson,
  RequeuedJson,
  RetriedJson,
} from '../admin/answers/letters.ts'
export type { ChangedToldJson, EventsToldJson, StreamKind } from '../admin/answers/stream.ts'

/** A page of a list. */
export interface ListJson<T> {
  readonly data: readonly T[]
  /** Gives the next page as `cursor`; null on the last one. */
  readonly next_cursor: string | null
}
