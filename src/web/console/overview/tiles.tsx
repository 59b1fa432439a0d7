import { formatCount, formatDuration, formatMs, formatNumber, formatShare } from '../../ui/format.ts'
import { shortText } from '../../ui/text.tsx'
import { Tile } from '../../ui/tile.tsx'
import type { HandlerJson } from '../../../admin/handlers.ts'
import type { ActivityJson, OverviewJson } from '../../../admin/overview.ts'

export interface TilesProps {
  readonly overview: OverviewJson
  readonly activity: ActivityJson | undefined
  readonly handlers: readonly HandlerJson[]
}

/** The five figures of the inbox, each with its course and the page that explains it. */
export function Tiles({ overview, activity, handlers }: TilesProps) {
  const { sender, now, open_runs: open, oldest_open_at: oldestAt, dead_letters: dead } = overview
  const { buckets = [], backlog = [], bucket_s: bucketS = 60 } = activity ?? {}
  const upMinutes =
    overview.started_at === null ? Infinity : (Date.parse(now) - Date.parse(overview.started_at)) / 60_000
  const perMinute = rateOf(buckets, bucketS, upMinutes) || overview.events_per_second * 60
  const failed = sender === null ? 0 : sender.deliveries - sender.acknowledged
  const oldest = handlers.find(({ oldest_open_at: at }) => at !== null && at === oldestAt)
  const newDead = dead - (backlog[0]?.dead_letters ?? dead)
  const isSlow = sender !== null && sender.p99_ms !== null && sender.p99_ms > sender.budget_ms / 2
  const oldestMs = oldestAt === null ? null : Math.max(0, Date.parse(now) - Date.parse(oldestAt))
  return (
    <div className="ui-tiles">
      <Tile
        title="Events / min"
        href="/events"
        value={formatNumber(Number(perMinute.toPrecision(3)))}
        note={`${formatNumber(Number((perMinute / 60).toPrecision(2)))} per second`}
        values={buckets.slice(0, -1).map(({ events }) => events)}
      />
      <Tile
        title="Success rate"
        href="/deliveries"
        value={formatShare(sender?.success_rate)}
        note={
          sender === null
            ? 'no receiver here'
            : `${formatCount(sender.deliveries)} deliveries, ${formatCount(failed)} failed`
        }
        values={buckets.map(({ acks }) => acks && acks.acknowledged / Math.max(1, acks.acknowledged + acks.refused))}
        tone={failed > 0 ? 'bad' : 'good'}
      />
      <Tile
        title="Acknowledgement p99"
        href="/deliveries"
        value={formatMs(sender?.p99_ms)}
        note={`of ${(sender?.budget_ms ?? 5_000) / 1_000} s allowed · p50 ${formatMs(sender?.p50_ms)}`}
        values={buckets.map(({ acks }) => acks?.p99_ms ?? null)}
        tone={isSlow ? 'bad' : 'info'}
      />
      <Tile
        title="Pending runs"
        href="/handlers"
        value={formatCount(open)}
        note={
          oldestMs === null
            ? 'none pending'
            : `oldest ${formatDuration(oldestMs)}${oldest === undefined ? '' : ` · ${shortText(oldest.name, 24)}`}`
        }
        values={lastHour(backlog.map(({ open_runs: runs }) => runs))}
        tone={open > 0 ? 'warning' : 'info'}
      />
      <Tile
        title="Dead letters"
        href="/dead-letters"
        value={formatCount(dead)}
        note={noteOfDead(newDead, backlog.length)}
        values={lastHour(backlog.map(({ dead_letters: letters }) => letters))}
        tone={dead > 0 ? 'bad' : 'good'}
      />
    </div>
  )
}

/** `minutes`: how many are known; before an hour after the start, an increase can't be told. */
function noteOfDead(increase: number, minutes: number): string {
  if (minutes < 60) return 'kept until requeued or dropped'
  return increase > 0 ? `+${formatCount(increase)} in the last hour` : 'none new in the last hour'
}

/** The minutes before the start have no value. */
function lastHour(values: readonly number[]): readonly (number | null)[] {
  return [...Array.from({ length: Math.max(0, 60 - values.length) }, () => null), ...values]
}

/** Events per minute over the last five full minutes since the start, or the last full bucket; 0 if none is full. */
function rateOf(buckets: ActivityJson['buckets'], bucketS: number, upMinutes: number): number {
  const count = bucketS === 60 ? Math.min(5, Math.floor(upMinutes)) : 1
  const full = count === 0 ? [] : buckets.slice(0, -1).slice(-count)
  if (full.length === 0) return 0
  return full.reduce((sum, { events }) => sum + events, 0) / full.length / (bucketS / 60)
}
