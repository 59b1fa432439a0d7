import { NativeSelect } from '@mantine/core'
import { useGet } from '../../ui/api.tsx'
import { largestSeries, StackedChart } from '../../ui/chart.tsx'
import { usePageLocation } from '../../ui/router.tsx'
import { Page, Panel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { HandlerListJson, HandlerJson } from '../../../admin/handlers.ts'
import type { ActivityJson, OverviewJson } from '../../../admin/overview.ts'
import { HandlerTable } from '../handlers/handler-table.tsx'
import { FirstRun } from './first-run.tsx'
import { Problems } from './problems.tsx'
import { formatCount, formatCounted, formatDuration, formatMs, formatNumber, formatShare } from '../../ui/format.ts'
import { shortText } from '../../ui/text.tsx'
import { Tile } from '../../ui/tile.tsx'

const pollMs = { hour: 5_000, day: 30_000 } as const

/** Figures first, then problems with their actions, then the course of events and the handlers. */
export function OverviewPage() {
  const location = usePageLocation()
  const window = location.parameters['window'] === 'day' ? 'day' : 'hour'
  const overview = useGet<OverviewJson>('/overview')
  const handlers = useGet<HandlerListJson>('/handlers', { pollMs: 5_000 })
  const activity = useGet<ActivityJson>(`/activity?window=${window}`, { pollMs: pollMs[window] })
  return (
    <Page
      title="Overview"
      actions={
        <NativeSelect
          aria-label="Window"
          data={[
            { value: 'hour', label: 'Last hour' },
            { value: 'day', label: 'Last day' },
          ]}
          value={window}
          onChange={(event) =>
            location.go({ window: event.currentTarget.value === 'day' ? 'day' : '' }, { replace: true })
          }
        />
      }
    >
      <Loaded query={overview} rows={4}>
        {(data) => (
          <>
            <Tiles overview={data} activity={activity.data} handlers={handlers.data?.data ?? []} />
            {data.events === 0 ? (
              <FirstRun rejects={data.rejects} />
            ) : (
              <Problems warnings={data.warnings} handlers={handlers.data?.data ?? []} />
            )}
          </>
        )}
      </Loaded>
      <Panel
        title={window === 'hour' ? 'Events per minute by type' : 'Events per 15 minutes by type'}
        note={`last ${window}`}
      >
        <Loaded query={activity} rows={5}>
          {(loaded) => <EventsChart activity={loaded} />}
        </Loaded>
      </Panel>
      <Loaded query={handlers}>
        {({ data }) => (
          <Panel title="Handlers and sinks" note={`${data.length} · sorted by trouble`} isFlush>
            <HandlerTable handlers={data} />
          </Panel>
        )}
      </Loaded>
    </Page>
  )
}

function EventsChart({ activity: { window, buckets, by_type: types } }: { readonly activity: ActivityJson }) {
  if (types.length === 0)
    return (
      <Empty title={`No events in the last ${window}`}>
        Events are counted here by type. Send a test with <code>onchain-inbox trigger</code>.
      </Empty>
    )
  // The last bucket is unfinished and would look like a drop, unless all events are in it.
  const end = buckets.slice(0, -1).some(({ events }) => events > 0) ? -1 : undefined
  return (
    <StackedChart
      title="Events by type"
      times={buckets.slice(0, end).map(({ at }) => at)}
      series={largestSeries(types.map(({ type, series }) => ({ name: type, values: series.slice(0, end) })))}
    />
  )
}

interface TilesProps {
  readonly overview: OverviewJson
  readonly activity: ActivityJson | undefined
  readonly handlers: readonly HandlerJson[]
}

/** The five figures of the inbox, each with its course and the page that explains it. */
function Tiles({ overview, activity, handlers }: TilesProps) {
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
