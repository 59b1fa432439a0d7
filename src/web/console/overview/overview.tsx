import { NativeSelect } from '@mantine/core'
import { useGet } from '../../ui/api.tsx'
import { largestSeries, StackedChart } from '../../ui/chart.tsx'
import { usePageLocation } from '../../ui/router.tsx'
import { Page, Panel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { HandlerListJson } from '../../../admin/handlers.ts'
import type { ActivityJson, OverviewJson } from '../../../admin/overview.ts'
import { HandlerTable } from '../handlers/handler-table.tsx'
import { FirstRun } from './first-run.tsx'
import { Problems } from './problems.tsx'
import { Tiles } from './tiles.tsx'

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
