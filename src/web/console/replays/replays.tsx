import { Button } from '@mantine/core'
import { Dialog, Action } from '../../ui/action.tsx'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { List } from '../../ui/list.tsx'
import { usePageLocation } from '../../ui/router.tsx'
import { Facts, Page } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import { Status, type Tone } from '../../ui/status.tsx'
import { type Column, ageColumn, countColumn } from '../../ui/table.tsx'
import { Line } from '../../ui/text.tsx'
import { Time } from '../../ui/values.tsx'
import type { ReplayJson } from '../../../admin/replays.ts'
import { formatFilter, type EventFilter } from '../events/filter.ts'
import { useIsOperator } from '../role.ts'
import { ReplayForm } from './replay-form.tsx'

const tones: Readonly<Record<ReplayJson['state'], Tone>> = { running: 'info', done: 'good', cancelled: 'neutral' }

const columns: readonly Column<ReplayJson>[] = [
  { header: 'Replay', width: '4.5rem', isName: true, cell: ({ id }) => `#${id}` },
  {
    header: 'State',
    width: '6.5rem',
    narrow: 'plain',
    cell: ({ state }) => <Status tone={tones[state] ?? 'neutral'}>{state}</Status>,
  },
  { header: 'Progress', width: '10rem', cell: (replay) => <Progress replay={replay} /> },
  { header: 'Events', cell: ({ filter }) => <Line value={filterText(filter)} /> },
  countColumn('Matched', 'events', { width: '5.5rem' }),
  countColumn('Open runs', 'open_runs', { width: '6.5rem' }),
  ageColumn('Started', 'created_at'),
]

/** Stored events that run again. With `start=1` in the address the dialog is open. */
export function ReplaysPage() {
  const location = usePageLocation()
  const isOperator = useIsOperator()
  const isOpen = isOperator && location.parameters['start'] === '1'
  const close = () => location.go({ start: '' }, { replace: true })
  return (
    <Page
      title="Replays"
      actions={isOperator && <Button onClick={() => location.go({ start: '1' })}>Start replay</Button>}
    >
      <List
        caption="Replays"
        path="/replays"
        rowKey={({ id }: ReplayJson) => String(id)}
        columns={columns}
        detail={{
          label: 'Replay',
          render: (_id, row) => (row === undefined ? <Empty title="No such replay" /> : <Replay replay={row} />),
        }}
        empty={
          <Empty title="No replays yet">
            A replay runs stored events again, after a handler was fixed or added. Start one above, or with{' '}
            <code>onchain-inbox replay --from 2h</code>. An event’s page replays that event.
          </Empty>
        }
      />
      <Dialog title="Start replay" isOpen={isOpen} onClose={close}>
        {isOpen && <ReplayForm onStarted={close} />}
      </Dialog>
    </Page>
  )
}

function filterText({ ids, ...filter }: ReplayJson['filter']): string {
  const text = formatFilter(filter as EventFilter)
  return Array.isArray(ids) ? `${ids.length} by id ${text}` : text
}

function Progress({ replay: { id, progress } }: { readonly replay: ReplayJson }) {
  return (
    <span className="ui-number">
      <progress max={1} value={progress} aria-label={`Progress of replay ${id}`} /> {Math.floor(progress * 100)} %
    </span>
  )
}

function Replay({ replay }: { readonly replay: ReplayJson }) {
  const isOperator = useIsOperator()
  return (
    <>
      <Progress replay={replay} />
      {isOperator && replay.state === 'running' && (
        <div>
          <Action
            label="Cancel replay"
            title={`Cancel replay ${replay.id}?`}
            isDangerous
            run={async ({ api }) => void (await api.send('POST', `/replays/${replay.id}/cancel`))}
          >
            Its pending runs are dropped, and no more are created. Completed runs stay.
          </Action>
        </div>
      )}
      <Facts
        facts={{
          Events: filterText(replay.filter),
          State: replay.state,
          Matched: formatCount(replay.events),
          Runs: formatCount(replay.runs),
          'Open runs': formatCount(replay.open_runs),
          Skipped: `${formatCount(replay.skipped)} without a body`,
          Rate: replay.per_second === null ? 'unlimited' : `${formatNumber(replay.per_second)} per second`,
          'New keys': replay.new_keys ? 'yes' : 'no',
          Started: <Time at={replay.created_at} />,
          Ended: <Time at={replay.ended_at} />,
        }}
      />
    </>
  )
}
