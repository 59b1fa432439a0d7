import { formatCount, formatCounted, formatDuration, formatMs, formatNumber, formatShare } from '../../ui/format.ts'
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
  const { dead_last_hour: newDead, events_per_minute: perMinute } = overview
  const { buckets = [], backlog = [] } = activity ?? {}
  const failed = sender === null ? 0 : sender.deliveries - sender.acknowledged
  const oldest = handlers.find(({ oldest_open_at: at }) => at !== null && at === oldestAt)
  const isSlow = sender !== null && sender.p99_ms !== null && sender.p99_ms > (sender.budget_ms ?? Infinity) / 2
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
            : `${formatCounted(sender.deliveries, 'delivery', 'deliveries')}, ${formatCount(failed)} failed`
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
        note={newDead > 0 ? `+${formatCount(newDead)} in the last hour` : 'none new in the last hour'}
        values={lastHour(backlog.map(({ dead_letters: letters }) => letters))}
        tone={dead > 0 ? 'bad' : 'good'}
      />
    </div>
  )
}

/** The minutes before the start have no value. */
function lastHour(values: readonly number[]): readonly (number | null)[] {
  return [...Array.from({ length: Math.max(0, 60 - values.length) }, () => null), ...values]
}
