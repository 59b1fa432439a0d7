import { internalTypePrefix } from '../inbox/port.ts'
import type { Activity, QueryStore } from '../inbox/port.ts'
import type { Span } from '../base/ladder.ts'
import type { Silence } from './port.ts'

/** How often events of a type come on a network. `gaps[i]` counts times of 2^i to 2^(i+1) seconds between two of them; [0] is up to 2 s. */
export interface Cadence {
  readonly type: string
  readonly network: string | null
  /** The first and the last minute with such an event. */
  readonly firstAt: number
  readonly lastAt: number
  /** Events of the last minute. */
  readonly lastCount: number
  readonly count: number
  readonly gaps: readonly number[]
}

const secondMs = 1_000
const minuteMs = 60_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Habits are learned from so long a time at the start: two weekends are always in it. */
const learnedMs = 14 * dayMs
/** One call reads so long a time. */
const readMs = 6 * hourMs
/** Events of younger minutes may still be on their way into the store. */
const settledMs = 2 * minuteMs

export type Cadences = ReturnType<typeof createCadences>

/** Learns cadences from the counts per minute: at first from those of 14 days, then from what is new. */
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

/** Adds the events of a later minute. Those of a minute are taken as evenly spread in it. */
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

/** What has to be known before anything is usual. */
const leastEvents = 30
const leastHistoryMs = hourMs
const shortestAlarmMs = 10 * 60_000
const usualFactor = 6
const longestFactor = 3
/** A silence that lasts so long, and so many times as long as until its alarm, is no fault any more: that type is over for good. */
const shortestGoneMs = 7 * dayMs
const goneFactor = 3
/** A longest time between two that came only once in so long was no habit of the sender, but an outage. */
const oddityMs = 30 * dayMs

/**
 * How long each type of event has not come on each network, against how it usually comes; those that are silent first, then those
 * that have waited longest for their alarm, and last those that are gone: a type that was unsubscribed, a network that is over. `gaps` are times in which nothing could be received: they are no silence.
 *
 * The alarm comes after six times the 95th percentile of the times between two events, three times the longest of them, and ten
 * minutes, whichever is longest. At a steady random rate, where times are exponential, the first alone comes once in 60 million
 * events by chance; the second is for those who send in bursts, or by day only: their nights and weekends are the longest times
 * that they have. Both are ends of buckets, so up to twice as long as what they stand for.
 */
export function findSilences(cadences: readonly Cadence[], gaps: readonly Span[], now: number): Silence[] {
  return cadences
    .filter(({ type }) => !type.startsWith(internalTypePrefix))
    .map((cadence) => toSilence(cadence, gaps, now))
    .toSorted((a, b) => ranks[a.state] - ranks[b.state] || shareOf(b) - shareOf(a))
}

const ranks = { silent: 0, usual: 1, learning: 2, gone: 3 }

const shareOf = ({ silentMs, alarmAfterMs }: Silence): number => silentMs / alarmAfterMs

function toSilence(cadence: Cadence, gaps: readonly Span[], now: number): Silence {
  const { type, network, firstAt, lastAt, count } = cadence
  const usualMs = endOf(percentileBucket(cadence, 0.95))
  const alarmAfterMs = Math.max(
    usualFactor * usualMs,
    longestFactor * endOf(longestUsualBucket(cadence)),
    shortestAlarmMs,
  )
  // Up to the end of its minute an event may have come.
  const silentMs = inServiceMs({ from: Math.min(lastAt + minuteMs, now), to: now }, gaps)
  const isLearning = count < leastEvents || now - firstAt < leastHistoryMs
  const state = isLearning ? 'learning' : stateOf(silentMs, alarmAfterMs)
  return { type, network, lastAt, silentMs, usualMs, alarmAfterMs, state }
}

function stateOf(silentMs: number, alarmAfterMs: number): Silence['state'] {
  if (silentMs <= alarmAfterMs) return 'usual'
  return silentMs > Math.max(shortestGoneMs, goneFactor * alarmAfterMs) ? 'gone' : 'silent'
}

/** `gaps[i]` counts times of up to 2^(i+1) seconds. */
const endOf = (bucket: number): number => 2 ** (bucket + 1) * secondMs

function percentileBucket({ gaps }: Cadence, share: number): number {
  const total = gaps.reduce((sum, count) => sum + count, 0)
  let below = 0
  const found = gaps.findIndex((count) => (below += count) >= share * total)
  return Math.max(0, found)
}

/** The highest bucket, without a single time in it that stands alone for more than a month. */
function longestUsualBucket({ gaps, firstAt, lastAt }: Cadence): number {
  const highest = gaps.findLastIndex((count) => count > 0)
  const isOddity = gaps[highest] === 1 && lastAt - firstAt > oddityMs + endOf(highest)
  const next = gaps.slice(0, Math.max(0, highest)).findLastIndex((count) => count > 0)
  return Math.max(0, isOddity ? next : highest)
}

/** How much of a time lies outside of all others. */
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
