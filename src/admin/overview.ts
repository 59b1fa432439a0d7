import { z } from 'zod'
import type { AckBucket } from '../health/meter.ts'
import { internalTypePrefix, openRunsOf, type Activity, type ActivityQuery, type QueryStore } from '../inbox/port.ts'
import { version } from '../base/version.ts'
import { deadLettersOf } from './dead-letters.ts'
import { senderMeter, senderWindowMs, toSenderJson, warning } from './health.ts'
import { route, type AdminContext } from './route.ts'
import { component, count, isoTime, isoTimeOrNull, time, toWire } from './wire.ts'
import { minuteMs } from '../base/clock.ts'

export const overview = component('Overview', {
  now: time,
  started_at: time.nullable(),
  version: z.string(),
  events: z.int().describe('on-chain events stored ever'),
  events_per_minute: z
    .number()
    .min(0)
    .describe('on-chain events: mean of this and the previous four minutes, from the start of the process at most'),
  sender: senderMeter.nullable(),
  open_runs: count,
  oldest_open_at: time.nullable(),
  dead_letters: count,
  dead_last_hour: count.describe('dead letters that died within the last hour'),
  held: count,
  quarantined: count,
  conflicts: count,
  rejects: count.describe('rejected requests since the start'),
  store_bytes: count.nullable(),
  paused: z.boolean(),
  warnings: z.array(warning),
})

/** `hour`: 60 buckets of a minute; `day`: 96 of 15 minutes. Empty buckets are included. */
const activity = component('Activity', {
  window: z.enum(['hour', 'day']),
  bucket_s: z.int(),
  buckets: z.array(
    z.object({
      at: time,
      events: count,
      acks: z
        .object({
          p50_ms: z.number(),
          p99_ms: z.number(),
          acknowledged: count,
          refused: count.describe('answered with 503, too late, or with 422'),
        })
        .nullable()
        .describe('measured by this process; null: not measured'),
    }),
  ),
  by_type: z.array(z.object({ type: z.string(), count, series: z.array(count) })),
  backlog: z
    .array(z.object({ at: time, open_runs: count, dead_letters: count }))
    .describe('at the end of each minute of the last hour, as seen by this process'),
})

export type OverviewJson = z.output<typeof overview>
export type ActivityJson = z.output<typeof activity>

export const overviewRoutes = {
  getOverview: route({
    at: 'GET /overview',
    summary: 'Show key figures and warnings',
    gives: overview,
    answer: (context) => showOverview(context),
  }),
  getActivity: route({
    group: 'overview',
    at: 'GET /activity',
    summary: 'Count on-chain events and acknowledgements over the last hour or day',
    query: z.strictObject({ window: z.enum(['hour', 'day']).prefault('hour').describe('hour or day') }),
    gives: activity,
    async answer({ inbox, now, meter, watch }, { query: { window } }) {
      const span = activityQuery(window, now())
      return {
        ...toActivityJson(window, span, await onChainActivity(inbox, span), meter?.acks(span) ?? []),
        backlog: toWire(watch?.backlog() ?? []),
      }
    },
  }),
}

export async function showOverview(context: AdminContext): Promise<OverviewJson> {
  const { inbox, now, meter, watch, rejects, startedAt } = context
  const [stats, uses, deadLastHour, perMinute] = await Promise.all([
    inbox.stats(),
    inbox.secretUses(),
    inbox.deadLastHour(),
    eventsPerMinute(context),
  ])
  return {
    now: isoTime(now()),
    started_at: isoTimeOrNull(startedAt),
    version,
    events: uses.reduce((sum, { count: events }) => sum + events, 0),
    events_per_minute: perMinute,
    sender: meter === undefined ? null : toSenderJson(meter.summary(senderWindowMs)),
    open_runs: stats.handlers.reduce((sum, row) => sum + openRunsOf(row) + row.running, 0),
    oldest_open_at: isoTimeOrNull(stats.oldestOpenAt),
    dead_letters: deadLettersOf(stats),
    dead_last_hour: deadLastHour,
    held: stats.handlers.reduce((sum, { held }) => sum + held, 0),
    quarantined: stats.quarantined,
    conflicts: stats.conflicts,
    rejects: rejects?.count() ?? 0,
    store_bytes: stats.sizeBytes,
    paused: stats.paused,
    warnings: toWire(watch?.warnings() ?? []),
  }
}

/** Elapsed time counts in these steps, so that the rate doesn't change with every read. */
const rateStepMs = 10_000

async function onChainActivity(inbox: QueryStore, query: ActivityQuery): Promise<readonly Activity[]> {
  return (await inbox.activity(query)).filter(({ type }) => !type.startsWith(internalTypePrefix))
}

async function eventsPerMinute({ inbox, now: clock, startedAt = 0 }: AdminContext): Promise<number> {
  const now = clock()
  const from = Math.floor(Math.max(now - 4 * minuteMs, Math.min(startedAt, now)) / minuteMs) * minuteMs
  const rows = await onChainActivity(inbox, { from, to: now + 1, bucketMs: minuteMs })
  const elapsedMs = Math.ceil((now + 1 - from) / rateStepMs) * rateStepMs
  return (rows.reduce((sum, { count: events }) => sum + events, 0) / elapsedMs) * minuteMs
}

const spans = {
  hour: { bucketMs: minuteMs, buckets: 60 },
  day: { bucketMs: 15 * minuteMs, buckets: 96 },
} as const

const maxSeries = 20
/** Name of the series that sums up all smaller ones. */
const others = 'other'

/** A window whose last bucket contains `now`. */
export function activityQuery(window: ActivityJson['window'], now: number): ActivityQuery {
  const { bucketMs, buckets } = spans[window]
  const to = (Math.floor(now / bucketMs) + 1) * bucketMs
  return { from: to - buckets * bucketMs, to, bucketMs }
}

/** All buckets, with empty ones. The twenty largest types have a series, and all others have one together. */
export function toActivityJson(
  window: ActivityJson['window'],
  { from, to, bucketMs }: ActivityQuery,
  rows: readonly Activity[],
  acks: readonly AckBucket[],
): Omit<ActivityJson, 'backlog'> {
  const length = Math.round((to - from) / bucketMs)
  const placeOf = (at: number) => Math.floor((at - from) / bucketMs)
  const within = rows.filter(({ at }) => at >= from && at < to)
  const ackAt = new Map(acks.map((bucket) => [placeOf(bucket.at), bucket]))
  const seriesOf = (some: readonly Activity[]) => {
    const series = Array.from({ length }, () => 0)
    for (const { at, count: added } of some) series[placeOf(at)] = (series[placeOf(at)] ?? 0) + added
    return series
  }

  return {
    window,
    bucket_s: bucketMs / 1_000,
    buckets: seriesOf(within).map((events, place) => ({
      at: isoTime(from + place * bucketMs),
      events,
      acks: toAcksJson(ackAt.get(place)),
    })),
    by_type: largestTypes(within).map(({ members, ...row }) => ({ ...row, series: seriesOf(members) })),
  }
}

function toAcksJson(bucket: AckBucket | undefined): ActivityJson['buckets'][number]['acks'] {
  if (bucket === undefined) return null
  const { at: _at, ...acks } = bucket
  return toWire(acks)
}

function largestTypes(rows: readonly Activity[]) {
  const group = (type: string, members: readonly Activity[]) => {
    return { type, count: members.reduce((sum, row) => sum + row.count, 0), members }
  }
  const all = [...Map.groupBy(rows, ({ type }) => type)]
    .map(([type, members]) => group(type, members))
    .toSorted((a, b) => b.count - a.count || a.type.localeCompare(b.type, 'en'))
  const rest = all.splice(maxSeries).flatMap(({ members }) => members)
  return rest.length === 0 ? all : [...all, group(others, rest)]
}
