import { z } from 'zod'
import { driftKinds } from '../../inbox/index-port.ts'
import { count, listOf, time } from './common.ts'

/** Something that needs a look, most urgent first. Its code and subject together tell one from the other. */
export const warning = z.object({
  code: z
    .string()
    .describe('stable, such as ack_slow, deliveries_refused, silence, dead_letters; docs/health.md has all'),
  subject: z
    .string()
    .describe('what it is about, where there may be several: a handler, `type on network`; else empty'),
  level: z.enum(['critical', 'warning', 'info']),
  title: z.string().describe('one line, without values from outside'),
  text: z.string().describe('what it means and what to do'),
  since: time,
  href: z.string().nullable().describe('where in the console it is shown, such as /dead-letters'),
})

/** How the receiver did, as the sender sees it: any 2xx within 5 s is a success (R43, R44, R79). */
export const senderMeter = z.object({
  window_s: z.int().describe('seconds that it is about; at most an hour, since the start of this process'),
  deliveries: count.describe(
    'authentic deliveries that were answered, and those that were refused with 503; what was refused for good is not counted',
  ),
  acknowledged: count.describe('answered with 2xx within 5 s'),
  late: count.describe('answered with 2xx after 5 s: to the sender a failure'),
  refused: count.describe('answered with 503'),
  unusable: count.describe(
    'authentic, but no usable event, and answered 422 (INBOX_UNUSABLE_STATUS): to the sender a failure',
  ),
  success_rate: z.number().min(0).max(1).nullable().describe('null: there were none'),
  p50_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
  max_ms: z.number().nullable(),
  budget_ms: z.int().describe('what the sender waits: 5000'),
})

export const silence = z.object({
  type: z.string(),
  network: z.string().nullable(),
  last_at: time,
  silent_ms: count.describe('how long nothing came while this receiver was in service'),
  usual_ms: count.describe('the 95th percentile of the times between two of them'),
  alarm_after_ms: count,
  state: z
    .enum(['usual', 'silent', 'learning', 'gone'])
    .describe('gone: silent for so long that it is taken as over for good'),
})

export const secretUse = z.object({
  label: z.string(),
  configured: z.boolean().describe('false: it verified events once and is gone'),
  first_used_at: time.nullable(),
  last_used_at: time.nullable(),
  events: count,
})

export const gap = z.object({
  from: time,
  to: time,
  kind: z.enum(['stopped', 'killed', 'stood_still', 'restored']),
  clean_stop: z.boolean(),
  retried_until: time.nullable().describe('by then the sender has tried again what it tried in this time'),
  lost: z.object({ from: time, to: time }).nullable().describe('what was first sent then does not come by itself'),
  arrived: count,
  arrived_lost: count,
  last_arrival_at: time.nullable(),
  acknowledged_at: time.nullable(),
})

/** `alerts`: why events of alerts are not among the candidates. */
export const reconcile = z.object({
  id: z.int(),
  state: z.enum(['running', 'done', 'failed', 'cancelled']),
  from: time,
  to: time,
  started_at: time,
  ended_at: time.nullable(),
  wallets: count.describe('wallets that are asked for'),
  wallets_done: count,
  trades: count.describe('trades of that time that the service told of'),
  requests: count,
  error: z.string().nullable(),
  notes: z.array(z.string()).describe('what it cannot tell, in words'),
  candidates: z
    .array(
      z.object({
        network: z.string(),
        wallet: z.string(),
        tx_hash: z.string(),
        traded_at: z.string(),
        summary: z.string().describe('such as `buy 12 ABC for $340`, safe to show'),
      }),
    )
    .describe('trades whose transaction no stored event names; the first 1,000'),
  candidate_count: count,
})

export const drift = z.object({
  kind: z.enum(driftKinds),
  type: z.string(),
  path: z.string(),
  expected: z.string(),
  example: z.string().describe('the first value that came instead, shortened'),
  count,
  first_at: time,
  last_at: time,
  first_event_id: z.string(),
})
export const driftList = z.object({ data: z.array(drift) })

export const subscription = z.object({
  id: z.int(),
  digest: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  secret_label: z.string(),
  state: z.enum(['begun', 'registered', 'failed']),
  at: time,
  answer: z.string().nullable(),
})
export const foundSubscription = z.object({ subscription: subscription.nullable() })

export const indexStatus = z.object({
  state: z.enum(['current', 'building', 'off']),
  reason: z.string().nullable(),
  indexed_seq: count,
  behind: count.describe('events that are stored and cannot be found by their words yet'),
  lag_ms: count,
  size_bytes: count.nullable(),
})

export const health = z.object({
  missing_sequence_numbers: count,
  dead_letters: count,
  quarantined: count,
  oldest_open_at: time.nullable(),
  paused: z.boolean(),
  paused_handlers: z.array(z.string()),
  shut_sinks: z.array(
    z.object({
      since: time,
      until: time,
      reason: z.enum(['breaker', 'pause']),
      failures: count,
      error: z.string().nullable(),
      handler: z.string(),
      open_runs: count,
    }),
  ),
  not_loaded: z.array(z.object({ handler: z.string(), open_runs: count })).nullable(),
  gaps: z.array(gap),
  subscription: subscription.nullable(),
  warnings: z.array(warning),
  sender: senderMeter.nullable().describe('null: no receiver runs in this process'),
  silences: z.array(silence),
  index: indexStatus,
  reconcile: reconcile.nullable().describe('the last one of this process'),
  reconcile_configured: z.boolean().describe('whether there is access to the service, without which none can begin'),
})

/** What the first page of the console shows. */
export const overview = z.object({
  now: time,
  started_at: time.nullable(),
  version: z.string(),
  events: z.int().describe('stored, ever'),
  events_per_second: z.number().min(0).describe('over the last 10 s'),
  sender: senderMeter.nullable(),
  open_runs: count,
  oldest_open_at: time.nullable(),
  dead_letters: count,
  held: count,
  quarantined: count,
  conflicts: count,
  rejects: count.describe('requests refused for good, since the start'),
  store_bytes: count.nullable(),
  paused: z.boolean(),
  index: indexStatus,
  warnings: z.array(warning),
})

/** `hour`: 60 buckets of a minute; `day`: 96 of 15 minutes. A bucket for each, also where nothing came. */
export const activity = z.object({
  window: z.enum(['hour', 'day']),
  bucket_s: z.int(),
  buckets: z.array(
    z.object({
      at: time,
      events: count,
      acks: z
        .object({ p50_ms: z.number(), p99_ms: z.number(), refused: count })
        .nullable()
        .describe('as far as this process measured it; null: it did not'),
    }),
  ),
  by_type: z.array(z.object({ type: z.string(), count, series: z.array(count) })),
  by_network: z.array(z.object({ network: z.string().nullable(), count, series: z.array(count) })),
})

export const audit = z.object({
  id: z.int(),
  at: time,
  action: z.string(),
  detail: z.record(z.string(), z.unknown()),
  by: z.string().nullable(),
})
export const auditList = listOf(audit)

export const replica = z.object({
  id: z.string(),
  version: z.string(),
  started_at: time,
  seen_at: time,
  alive: z.boolean().describe('whether it has said lately that it is there'),
  self: z.boolean().describe('whether it is the process that answers'),
  leader: z.boolean().describe('whether it does what one has to do: replays, backfills, the index'),
  load: z.record(z.string(), z.number()).describe('what it says of its load, by name'),
})
export const replicaList = z.object({ data: z.array(replica) })

/** What is set, for people: secrets as labels or as set / not set, never as values. */
export const settings = z.object({
  settings: z.array(
    z.object({
      name: z.string(),
      value: z.string().describe('never of a secret'),
      source: z.enum(['default', 'environment', 'file', 'config']),
      secret: z.boolean(),
    }),
  ),
  secrets: z.array(secretUse),
})
export const secretList = z.object({ data: z.array(secretUse) })

export const session = z.object({
  role: z.enum(['operator', 'viewer']),
  expires_at: time.nullable().describe('null: by a token, not a session'),
})

export type WarningJson = z.output<typeof warning>
export type SenderMeterJson = z.output<typeof senderMeter>
export type SilenceJson = z.output<typeof silence>
export type SecretUseJson = z.output<typeof secretUse>
export type GapJson = z.output<typeof gap>
export type ReconcileJson = z.output<typeof reconcile>
export type DriftJson = z.output<typeof drift>
export type DriftListJson = z.output<typeof driftList>
export type SecretListJson = z.output<typeof secretList>
export type ReplicaListJson = z.output<typeof replicaList>
export type SubscriptionJson = z.output<typeof subscription>
export type IndexStatusJson = z.output<typeof indexStatus>
export type HealthJson = z.output<typeof health>
export type OverviewJson = z.output<typeof overview>
export type ActivityJson = z.output<typeof activity>
export type AuditJson = z.output<typeof audit>
export type ReplicaJson = z.output<typeof replica>
export type SettingsJson = z.output<typeof settings>
export type SessionJson = z.output<typeof session>
