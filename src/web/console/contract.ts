// Responses of the admin API below /api/v1. Times are ISO 8601 in UTC.

export type {
  AttemptJson,
  EventDetailJson,
  EventListJson,
  EventRowJson,
  EventSummaryJson,
  RunJson,
} from '../../admin/events.ts'
export type { HandlerJson, HandlerListJson, TriedJson } from '../../admin/handlers.ts'
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
export type { ConflictDetailJson, ConflictJson } from '../../admin/conflicts.ts'
export type { DeadGroupsJson, DeadLetterJson, DroppedJson, RequeuedJson } from '../../admin/dead-letters.ts'
export type {
  DroppedBodiesJson,
  QuarantinedDetailJson,
  QuarantinedJson,
  QuarantineGroupsJson,
  RetriedJson,
} from '../../admin/quarantine.ts'
export type { RejectExplanationJson, RejectGroupJson, RejectListJson } from '../../admin/rejects.ts'
export type { ReplayCountJson, ReplayJson } from '../../admin/replays.ts'
export type { ChangedMessageJson, StreamKind } from '../../admin/stream.ts'
