import type { Reconcile, SenderMeter, Silence, Warning } from '../../health/port.ts'
import type { DriftRecord, IndexStatus } from '../../inbox/index-port.ts'
import type { AuditRecord, GapRecord, Subscription } from '../../inbox/port.ts'
import type {
  AuditJson,
  DriftJson,
  GapJson,
  IndexStatusJson,
  ReconcileJson,
  SenderMeterJson,
  SilenceJson,
  SubscriptionJson,
  WarningJson,
} from '../answers/health.ts'
import { isoTime, isoTimeOrNull } from './common.ts'

/** Time that the sender waits for an answer (R79). */
const budgetMs = 5_000

export function toGapJson(gap: GapRecord): GapJson {
  return {
    from: isoTime(gap.from),
    to: isoTime(gap.to),
    kind: gap.kind,
    clean_stop: gap.kind === 'stopped',
    retried_until: isoTimeOrNull(gap.retriedUntil),
    lost: gap.lost && { from: isoTime(gap.lost.from), to: isoTime(gap.lost.to) },
    arrived: gap.arrived,
    arrived_lost: gap.arrivedLost,
    last_arrival_at: isoTimeOrNull(gap.lastArrivalAt),
    acknowledged_at: isoTimeOrNull(gap.acknowledgedAt),
  }
}

export function toAuditJson({ id, at, action, detail, by }: AuditRecord): AuditJson {
  return { id, at: isoTime(at), action, detail, by }
}

/** A registration with the service. `at`: when it was begun; `answer`: the text of what the service said, without anything secret. */
export function toSubscriptionJson(subscription: Subscription): SubscriptionJson {
  const { id, digest, url, events, secretLabel, state, at, answer } = subscription
  return { id, digest, url, events: [...events], secret_label: secretLabel, state, at: isoTime(at), answer }
}

export function toWarningJson({ code, subject, level, title, text, since, href }: Warning): WarningJson {
  return { code, subject, level, title, text, since: isoTime(since), href }
}

export function toSenderJson(meter: SenderMeter): SenderMeterJson {
  return {
    window_s: Math.round(meter.windowMs / 1_000),
    deliveries: meter.deliveries,
    acknowledged: meter.acknowledged,
    late: meter.late,
    refused: meter.refused,
    unusable: meter.unusable,
    success_rate: meter.successRate,
    p50_ms: meter.p50Ms,
    p99_ms: meter.p99Ms,
    max_ms: meter.maxMs,
    budget_ms: budgetMs,
  }
}

export function toSilenceJson(silence: Silence): SilenceJson {
  return {
    type: silence.type,
    network: silence.network,
    last_at: isoTime(silence.lastAt),
    silent_ms: Math.round(silence.silentMs),
    usual_ms: Math.round(silence.usualMs),
    alarm_after_ms: Math.round(silence.alarmAfterMs),
    state: silence.state,
  }
}

export function toIndexJson(status: IndexStatus): IndexStatusJson {
  return {
    state: status.state,
    reason: status.reason,
    indexed_seq: status.indexedSeq,
    behind: status.behind,
    lag_ms: Math.round(status.lagMs),
    size_bytes: status.sizeBytes,
  }
}

export function toDriftJson(drift: DriftRecord): DriftJson {
  return {
    kind: drift.kind,
    type: drift.type,
    path: drift.path,
    expected: drift.expected,
    example: drift.example,
    count: drift.count,
    first_at: isoTime(drift.firstAt),
    last_at: isoTime(drift.lastAt),
    first_event_id: drift.firstEventId,
  }
}

export function toReconcileJson(reconcile: Reconcile): ReconcileJson {
  return {
    id: reconcile.id,
    state: reconcile.state,
    from: isoTime(reconcile.from),
    to: isoTime(reconcile.to),
    started_at: isoTime(reconcile.startedAt),
    ended_at: isoTimeOrNull(reconcile.endedAt),
    wallets: reconcile.wallets,
    wallets_done: reconcile.walletsDone,
    trades: reconcile.trades,
    requests: reconcile.requests,
    error: reconcile.error,
    notes: [...reconcile.notes],
    candidates: reconcile.candidates.map(({ network, wallet, txHash, tradedAt, summary }) => ({
      network,
      wallet,
      tx_hash: txHash,
      traded_at: tradedAt,
      summary,
    })),
    candidate_count: reconcile.candidateCount,
  }
}
