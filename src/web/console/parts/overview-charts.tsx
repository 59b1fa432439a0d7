import { Button } from '@mantine/core'
import { useMemo } from 'react'
import { formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { SeriesChart, type SeriesChartProps } from '../../ui/series-chart.tsx'
import { withOthers } from '../../ui/series-data.ts'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { goTo } from '../../ui/hash-router.ts'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import { queryOf } from '../api-client.ts'
import type { ActivityJson } from '../contract.ts'
import { formatMs } from './overview-format.ts'
import { usePoll } from './overview-live.ts'

type Window = ActivityJson['window']

const refreshMs = { hour: 5_000, day: 30_000 } as const
/** A bucket is a minute at least. */
const pollMs = 60_000
const mostSeries = 6
const limit = { name: 'what the sender waits', value: 5_000 }
const windows: readonly (readonly [window: Window, name: string])[] = [
  ['hour', 'Last hour'],
  ['day', 'Last day'],
]

/** Chooses the time of the charts, in the address of the page. */
export function WindowChoice({ window: chosen }: { readonly window: Window }) {
  return (
    <div className="ui-row" role="group" aria-label="Time of the charts">
      {windows.map(([window, name]) => (
        <Button
          key={window}
          size="xs"
          variant={window === chosen ? 'filled' : 'default'}
          aria-pressed={window === chosen}
          onClick={() => goTo(`/${queryOf({ window: window === 'hour' ? '' : window })}`, { replace: true })}
        >
          {name}
        </Button>
      ))}
    </div>
  )
}

/** What came over time, by type and by network, and how fast it was acknowledged. */
export function Charts({ window }: { readonly window: Window }) {
  const { data, error, reload } = useApi<ActivityJson>(`/activity?window=${window}`)
  useStream('overview', useThrottled(reload, refreshMs[window]))
  usePoll(pollMs, reload)
  useStreamState(reload)
  const shown = useMemo(() => data && seriesOf(data), [data])
  if (shown === null) {
    return error === null ? <LoadingState what="the charts" /> : <ErrorState error={error} onRetry={reload} />
  }
  const { times, bucketS, byType, byNetwork, acks, refused } = shown
  const shared = { times, bucketS } as const
  const counts = { ...shared, kind: 'stacked', format: formatCount } as const
  return (
    <>
      <ErrorState error={error} onRetry={reload} />
      <div className="ui-columns">
        <ChartPanel {...counts} title="Events by type" series={byType} empty={nothing} />
        <ChartPanel {...counts} title="Events by network" series={byNetwork} empty={nothing} />
        <ChartPanel
          {...shared}
          title="Time to acknowledge"
          kind="lines"
          series={acks}
          format={formatMs}
          limit={limit}
          empty="This process acknowledged nothing in this time."
        />
        <ChartPanel
          {...counts}
          title="Refused deliveries"
          series={refused}
          empty="No delivery was refused in this time."
        />
      </div>
    </>
  )
}

/** A chart below a heading of its title. */
function ChartPanel(props: SeriesChartProps) {
  return (
    <Panel title={props.title}>
      <SeriesChart {...props} />
    </Panel>
  )
}

const nothing = 'Nothing came in this time.'

function seriesOf({ buckets, bucket_s: bucketS, by_type: byType, by_network: byNetwork }: ActivityJson) {
  const totals = buckets.map(({ events }) => events)
  return {
    times: buckets.map(({ at }) => at),
    bucketS,
    byType: withOthers(
      byType.map(({ type, series }) => ({ name: type, values: series })),
      totals,
      mostSeries,
      'other types',
    ),
    byNetwork: withOthers(
      byNetwork.map(({ network, series }) => ({ name: network ?? 'no network', values: series })),
      totals,
      mostSeries,
      'other networks',
    ),
    acks: [
      { name: 'p50', values: buckets.map(({ acks }) => acks?.p50_ms ?? null) },
      { name: 'p99', values: buckets.map(({ acks }) => acks?.p99_ms ?? null) },
    ],
    refused: [{ name: 'refused', values: buckets.map(({ acks }) => acks?.refused ?? 0) }],
  }
}
