import { hostname } from 'node:os'
import { z } from 'zod'
import { driftKinds } from '../health/drift.ts'
import { ackBudgetMs, type SenderMeter } from '../health/meter.ts'
import { describeSchedule } from '../health/senders.ts'
import { orphanedHandlers, openRunsOf, internalLabel, sourceOf, type AuditRecord } from '../inbox/port.ts'
import { version } from '../base/version.ts'
import { partsOfCaller } from './auth.ts'
import { deadLettersOf } from './dead-letters.ts'
import { shut } from './handlers.ts'
import { pageParameters } from './parse.ts'
import { route, type AdminContext } from './route.ts'
import { component, count, isoTimeOrNull, listOf, time, toFields, toPage, toWire } from './wire.ts'

/** Code and subject together identify a warning. */
export const warning = component('Warning', {
  code: z.string().describe('stable, such as ack_slow; docs/operations.md lists all'),
  subject: z.string().describe('such as a handler, if there can be several warnings of the code; else empty'),
  level: z.enum(['critical', 'warning', 'info']),
  title: z.string().describe('one line, without external text'),
  text: z.string().describe('explanation and advice'),
  since: time,
  href: z.string().nullable().describe('page of the console, such as /dead-letters'),
})

export const senderMeter = component('SenderMeter', {
  window_s: z.int().describe('length of the window in seconds, at most an hour'),
  deliveries: count.describe('signed deliveries, and deliveries answered with 503; rejects are not counted'),
  acknowledged: count.describe('answered with 2xx within 5 s'),
  late: count.describe('answered with 2xx after 5 s: a failure to the sender'),
  refused: count.describe('answered with 503'),
  unusable: count.describe('not a usable event and answered with 422: a failure to the sender'),
  success_rate: z.number().min(0).max(1).nullable().describe('null: no deliveries'),
  p50_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
  max_ms: z.number().nullable(),
  budget_ms: z.int().nullable().describe('time limit of the sender; null: none is documented'),
})

const sourceHealth = component('SourceHealth', {
  source: z.string().describe('`default` or a name of the setting sources'),
  sender: senderMeter,
  retries: z.string().describe("the sender's retry schedule, as a sentence"),
})

const silence = component('Silence', {
  type: z.string(),
  network: z.string().nullable(),
  last_at: time.describe('end of the minute of the last event, or now if that minute is not over'),
  silent_ms: count.describe('time since `last_at` while this receiver was in service'),
  usual_ms: count.describe('95th percentile of the intervals between events; not reliable while learning'),
  alarm_after_ms: count,
  state: z.enum(['usual', 'silent', 'learning', 'gone']).describe('gone: no more events are expected'),
  learning: z
    .object({ until: time, missing_events: count })
    .nullable()
    .describe('while learning: the alarm is armed at `until`, once this many more events have arrived'),
})

const secretUse = component('SecretUse', {
  label: z.string(),
  configured: z.boolean().describe('false: removed'),
  first_used_at: time.nullable(),
  last_used_at: time.nullable(),
  events: count,
})
const secretList = component('SecretList', { data: z.array(secretUse) })

const gap = component('Gap', {
  from: time,
  to: time,
  kind: z.enum(['stopped', 'killed', 'stood_still', 'restored']),
  retried_until: time.nullable().describe('when the sender has sent its last retry'),
  lost: z.object({ from: time, to: time }).nullable().describe('when lost events were first sent'),
  arrived: count,
  arrived_lost: count,
  last_arrival_at: time.nullable(),
  acknowledged_at: time.nullable(),
})

const drift = component('Drift', {
  kind: z.enum(driftKinds),
  type: z.string(),
  path: z.string(),
  expected: z.string(),
  example: z.string().describe('first differing value, shortened'),
  count,
  first_at: time,
  last_at: time,
  first_event_id: z.string(),
})
const driftList = component('DriftList', { data: z.array(drift) })

const health = component('Health', {
  missing_sequence_numbers: count,
  dead_letters: count,
  quarantined: count,
  paused: z.boolean(),
  paused_handlers: z.array(z.string()),
  shut_sinks: z.array(z.object({ ...shut.shape, handler: z.string(), open_runs: count })),
  not_loaded: z.array(z.object({ handler: z.string(), open_runs: count })).nullable(),
  gaps: z.array(gap),
  warnings: z.array(warning),
  sources: z.array(sourceHealth).describe('deliveries of the last hour by source'),
  silences: z.array(silence),
})

const audit = component('AuditEntry', {
  id: z.int(),
  at: time,
  action: z.string(),
  detail: z.record(z.string(), z.unknown()),
  by: z
    .string()
    .nullable()
    .describe('role and address, such as operator (session) 127.0.0.1; null: the inbox or a command'),
  user_agent: z.string().nullable().describe('at most its first 200 characters; null: none'),
})
const auditList = listOf('AuditList', audit)

const replica = component('Replica', {
  id: z.string(),
  version: z.string(),
  started_at: time,
  seen_at: time,
  alive: z.boolean().describe('true if it reported lately'),
  self: z.boolean().describe('true for the process that answers'),
  leader: z.boolean().describe('true if it runs replays and backfills'),
})
const replicaList = component('ReplicaList', { data: z.array(replica) })

const settings = component('Settings', {
  settings: z.array(
    z.object({
      name: z.string().describe('such as INBOX_PORT'),
      value: z.string().describe('the value in force, without its secret parts'),
      origin: z.enum(['default', 'environment', 'file', 'config']),
      secret: z.boolean().describe('true: the value may hold a secret'),
      default: z.string().describe('empty: none'),
    }),
  ),
})

export type WarningJson = z.output<typeof warning>
export type SenderMeterJson = z.output<typeof senderMeter>
export type SilenceJson = z.output<typeof silence>
export type SecretUseJson = z.output<typeof secretUse>
export type GapJson = z.output<typeof gap>
export type DriftJson = z.output<typeof drift>
export type HealthJson = z.output<typeof health>
export type AuditJson = z.output<typeof audit>
export type ReplicaJson = z.output<typeof replica>
export type SettingsJson = z.output<typeof settings>

export const healthRoutes = {
  getHealth: route({
    at: 'GET /health',
    summary: 'Show delivery health and everything that needs attention',
    gives: health,
    answer: (context) => showHealth(context),
  }),
  listDrift: route({
    group: 'health',
    at: 'GET /drift',
    summary: 'List differences between events since the start and their documentation',
    gives: driftList,
    answer: ({ drift }) => ({ data: toWire(drift?.records() ?? []) }),
  }),
  listSecrets: route({
    group: 'health',
    at: 'GET /secrets',
    summary: 'List secrets by label, with their last use',
    gives: secretList,
    answer: async (context) => ({ data: await secretUses(context) }),
  }),
  listReplicas: route({
    group: 'health',
    at: 'GET /replicas',
    summary: 'List the processes that work on this inbox',
    gives: replicaList,
    async answer({ cluster, startedAt, now }) {
      const alone = { startedAt: startedAt ?? now(), beatAt: now(), isAlive: true, isSelf: true, isLeader: true }
      const replicas = (await cluster?.replicas()) ?? [{ id: `${hostname()}-${process.pid}`, version, ...alone }]
      return { data: replicas.map((each) => toFields(replica, { ...each, seenAt: each.beatAt })) }
    },
  }),
  getSettings: route({
    group: 'health',
    at: 'GET /settings',
    summary: 'List the settings, without secrets',
    gives: settings,
    answer: (context) => ({ settings: [...(context.settings?.() ?? [])] }),
  }),
  listAudit: route({
    group: 'health',
    at: 'GET /audit',
    summary: 'List actions of operators, newest first',
    query: pageParameters,
    gives: auditList,
    answer: async ({ inbox }, { query }) => toPage(await inbox.audit(query), toAuditJson),
  }),
}

export const senderWindowMs = 3_600_000

async function showHealth(context: AdminContext): Promise<HealthJson> {
  const { inbox, handlers, openBreakers, senders = [], watch } = context
  const [stats, gaps] = await Promise.all([inbox.stats(), inbox.gaps()])
  const loaded = handlers?.()
  return {
    missing_sequence_numbers: stats.missingSeqs,
    dead_letters: deadLettersOf(stats),
    quarantined: stats.quarantined,
    paused: stats.paused,
    paused_handlers: stats.handlers.filter(({ paused }) => paused).map(({ handler }) => handler),
    shut_sinks: [...(openBreakers?.() ?? [])].map(([handler, state]) => {
      const row = stats.handlers.find((candidate) => candidate.handler === handler)
      return { handler, ...toWire(state), open_runs: row === undefined ? 0 : openRunsOf(row) }
    }),
    not_loaded: loaded === undefined ? null : toWire(orphanedHandlers(stats.handlers, loaded)),
    gaps: toWire(gaps),
    warnings: toWire(watch?.warnings() ?? []),
    sources: senders.map(({ sender, meter: ofSource }) => {
      const { source, ackLimitMs } = sender
      const summary = toSenderJson(ofSource.summary(senderWindowMs), ackLimitMs)
      return { source, sender: summary, retries: describeSchedule(sender) }
    }),
    silences: toWire(watch?.silences() ?? []),
  }
}

/** Configured secrets in order, then removed ones, last used first. */
async function secretUses({ inbox, secretLabels, senders = [] }: AdminContext): Promise<SecretUseJson[]> {
  const uses = (await inbox.secretUses()).filter(({ label }) => label !== internalLabel)
  const byLabel = new Map(uses.map((use) => [use.label, use]))
  const configured = secretLabels?.() ?? []
  // Labels of fetched keys are their ids.
  const fetching = senders.filter(({ sender }) => sender.secretsSetting === null).map(({ sender }) => sender.source)
  const isFetched = (label: string) => fetching.includes(sourceOf({ secretLabel: label }))
  const removed = uses
    .filter(({ label }) => !configured.includes(label) && !isFetched(label))
    .toSorted((a, b) => b.lastAt - a.lastAt)
  return [...configured, ...removed.map(({ label }) => label)].map((label) => {
    const use = byLabel.get(label)
    return {
      label,
      configured: configured.includes(label),
      first_used_at: isoTimeOrNull(use?.firstAt),
      last_used_at: isoTimeOrNull(use?.lastAt),
      events: use?.count ?? 0,
    }
  })
}

function toAuditJson({ detail, by, ...entry }: AuditRecord): AuditJson {
  return { ...toWire(entry), ...partsOfCaller(by), detail }
}

export function toSenderJson(
  { windowMs, ...meter }: SenderMeter,
  ackLimitMs: number | null = ackBudgetMs,
): SenderMeterJson {
  return { window_s: Math.round(windowMs / 1_000), ...toWire(meter), budget_ms: ackLimitMs }
}
