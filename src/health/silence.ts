import { internalTypePrefix } from '../inbox/port.ts'
import type { Activity, QueryStore } from '../inbox/port.ts'
import type { Span } from '../base/retry-schedule.ts'
import { dayMs, hourMs, minuteMs } from '../base/clock.ts'

export type Silence = Readonly<ReturnType<typeof toSilence>>

/** How often events of a type arrive on a network. `gaps[i]` counts intervals of 2^i to 2^(i+1) seconds; `gaps[0]` is up to 2 s. */
export interface Cadence {
  readonly type: string
  /** Null: events of this type name no network. */
  readonly network: string | null
  /** First and last minute with such an event, in milliseconds since 1970. */
  readonly firstAt: number
  readonly lastAt: number
  /** Events of the last minute. */
  readonly lastCount: number
  readonly count: number
  readonly gaps: readonly number[]
}

const secondMs = 1_000

/** History read at a start: it always contains two weekends. */
const learnedMs = 14 * dayMs
/** Time span of one read. */
const readMs = 6 * hourMs
/** Events of younger minutes may not be stored yet. */
const settledMs = 2 * minuteMs

export type Cadences = ReturnType<typeof createCadences>

/** Learns cadences from the counts per minute: first from 14 days of history, then from new events. */
export function createCadences() {
  const settled = new Map<string, Cadence>()
  let readTo: number | null = null

  return {
    async read(inbox: Pick<QueryStore, 'activity'>, now: number): Promise<readonly Cadence[]> {
      const end = (Math.floor(now / minuteMs) + 1) * minuteMs
      let at = Math.max(readTo ?? 0, end - learnedMs)
      const settledTo = end - settledMs - minuteMs
      const open = new Map<string, Cadence>()
      while (at < end) {
        const to = Math.min(end, at < settledTo ? Math.min(settledTo, at + readMs) : end)
        const rows = await inbox.activity({ from: at, to, bucketMs: minuteMs })
        for (const row of rows) {
          const key = JSON.stringify([row.type, row.network])
          if (to <= settledTo) settled.set(key, addMinute(settled.get(key), row))
          else open.set(key, addMinute(open.get(key) ?? settled.get(key), row))
        }
        if (to <= settledTo) readTo = to
        at = to
      }
      return [...new Map([...settled, ...open]).values()]
    },
  }
}

/** Adds a later minute. The events of a minute count as evenly spread. */
export function addMinute(known: Cadence | undefined, { at, type, network, count }: Activity): Cadence {
  const gaps = [...(known?.gaps ?? [])]
  const add = (gapMs: number, times: number) => {
    const bucket = gapMs < 2 * secondMs ? 0 : Math.floor(Math.log2(gapMs / secondMs))
    while (gaps.length <= bucket) gaps.push(0)
    gaps[bucket] = (gaps[bucket] ?? 0) + times
  }
  if (known !== undefined)
    add(Math.max(0, at - known.lastAt - minuteMs) + minuteMs / 2 / known.lastCount + minuteMs / 2 / count, 1)
  if (count > 1) add(minuteMs / count, count - 1)
  return {
    type,
    network,
    firstAt: known?.firstAt ?? at,
    lastAt: at,
    lastCount: count,
    count: (known?.count ?? 0) + count,
    gaps,
  }
}

/** History needed before a cadence counts as known. */
const minEvents = 30
const minHistoryMs = hourMs
const minAlarmMs = 10 * 60_000
const usualFactor = 6
const maxIntervalFactor = 3
/** A silence longer than this, and than `goneFactor` times the alarm time, means that the type is gone for good. */
const minGoneMs = 7 * dayMs
const goneFactor = 3
/** If the longest interval occurred only once in this time, it was an outage of the sender. */
const outageMs = 30 * dayMs

/**
 * Compares the current silence of each type and network with its usual cadence. Order: silent ones first, then the
 * longest waits relative to their alarm, then learning ones, then gone ones (an unsubscribed type or dead
 * network). `gaps` are downtimes of the receiver, which don't count as silence.
 *
 * The alarm is raised after the longest of: six times the 95th percentile of the intervals, three times the longest
 * interval, ten minutes. At a steady random rate (exponential intervals) the first alone fires by chance once in 60
 * million events. The second covers senders with bursts, or that send by day only: nights and weekends are their
 * longest intervals. Both use ends of buckets, so they are up to twice the real value.
 */
export function findSilences(cadences: readonly Cadence[], gaps: readonly Span[], now: number): Silence[] {
  return cadences
    .filter(({ type }) => !type.startsWith(internalTypePrefix))
    .map((cadence) => toSilence(cadence, gaps, now))
    .toSorted((a, b) => ranks[a.state] - ranks[b.state] || shareOf(b) - shareOf(a))
}

const ranks = { silent: 0, usual: 1, learning: 2, gone: 3 }

const shareOf = ({ silentMs, alarmAfterMs }: Silence): number => silentMs / alarmAfterMs

function toSilence(cadence: Cadence, gaps: readonly Span[], now: number) {
  const { type, network, firstAt, count } = cadence
  /** 95th percentile of the intervals between two events, in milliseconds. */
  const usualMs = endOf(percentileBucket(cadence, 0.95))
  const alarmAfterMs = Math.max(usualFactor * usualMs, maxIntervalFactor * endOf(maxUsualBucket(cadence)), minAlarmMs)
  /** Milliseconds since 1970. An event may have arrived up to the end of its minute. */
  const lastAt = Math.min(cadence.lastAt + minuteMs, now)
  /** Time from `lastAt` while the receiver was in service, in milliseconds. */
  const silentMs = inServiceMs({ from: lastAt, to: now }, gaps)
  const isLearning = count < minEvents || now - firstAt < minHistoryMs
  const state = isLearning ? ('learning' as const) : stateOf(silentMs, alarmAfterMs)
  /** The alarm is armed at `until`, once this many more events have arrived; null unless `learning`. */
  const learning = { until: firstAt + minHistoryMs, missingEvents: Math.max(0, minEvents - count) }
  return { type, network, lastAt, silentMs, usualMs, alarmAfterMs, state, learning: isLearning ? learning : null }
}

/** `gone`: silent for a long time; no more events are expected. */
function stateOf(silentMs: number, alarmAfterMs: number): 'usual' | 'silent' | 'gone' {
  if (silentMs <= alarmAfterMs) return 'usual'
  return silentMs > Math.max(minGoneMs, goneFactor * alarmAfterMs) ? 'gone' : 'silent'
}

/** End of a bucket: `gaps[i]` counts intervals of up to 2^(i+1) seconds. */
const endOf = (bucket: number): number => 2 ** (bucket + 1) * secondMs

function percentileBucket({ gaps }: Cadence, share: number): number {
  const total = gaps.reduce((sum, count) => sum + count, 0)
  let below = 0
  const found = gaps.findIndex((count) => (below += count) >= share * total)
  return Math.max(0, found)
}

/** The highest bucket. Skips a single interval that occurred once in more than a month. */
function maxUsualBucket({ gaps, firstAt, lastAt }: Cadence): number {
  const highest = gaps.findLastIndex((count) => count > 0)
  const isOutage = gaps[highest] === 1 && lastAt - firstAt > outageMs + endOf(highest)
  const next = gaps.slice(0, Math.max(0, highest)).findLastIndex((count) => count > 0)
  return Math.max(0, isOutage ? next : highest)
}

/** Part of a span, in milliseconds, that no gap covers. */
export function inServiceMs({ from, to }: Span, gaps: readonly Span[]): number {
  let at = from
  let served = 0
  for (const gap of gaps.toSorted((a, b) => a.from - b.from)) {
    if (gap.from >= to) break
    served += Math.max(0, gap.from - at)
    at = Math.max(at, gap.to)
  }
  return served + Math.max(0, to - at)
}
