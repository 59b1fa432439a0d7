import { Link } from 'wouter'
import { Action } from '../../ui/action.tsx'
import { pathWith } from '../../ui/api.tsx'
import { formatCount, formatDuration } from '../../ui/format.ts'
import { Panel } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { DataTable, type Column, countColumn, timeColumn } from '../../ui/table.tsx'
import { Time } from '../../ui/values.tsx'
import type { GapJson } from '../../../admin/health.ts'
import { useIsOperator } from '../role.ts'

const causes: Readonly<Record<GapJson['kind'], string>> = {
  stopped: 'stopped',
  killed: 'killed or crashed',
  stood_still: 'suspended, unable to write, or clock set forward',
  restored: 'restored from a backup',
}

const isOpen = ({ lost, acknowledged_at: at }: GapJson) => lost !== null && at === null

const columns: readonly Column<GapJson>[] = [
  timeColumn('From', 'from', { width: '11rem', isName: true }),
  {
    header: 'Duration',
    width: '7rem',
    isNumber: true,
    cell: ({ from, to }) => formatDuration(Math.max(0, Date.parse(to) - Date.parse(from))),
  },
  { header: 'Cause', width: '10rem', cell: ({ kind }) => causes[kind] },
  countColumn('Arrived late', 'arrived', { width: '6.5rem' }),
  timeColumn('Retries until', 'retried_until'),
  { header: 'Lost', narrow: 'plain', cell: (gap) => <Lost gap={gap} /> },
]

function Lost({ gap }: { readonly gap: GapJson }) {
  const { lost, arrived_lost: arrived, acknowledged_at: acknowledgedAt } = gap
  if (lost === null) return 'nothing'
  return (
    <>
      {acknowledgedAt === null ? <Status tone="bad">events lost</Status> : <Status>acknowledged</Status>}{' '}
      <Link href={pathWith('/deliveries', { from: lost.from, to: lost.to })}>Reconcile</Link>
      <div>
        {formatCount(arrived)} arrived of those sent <Time at={lost.from} /> to <Time at={lost.to} />
      </div>
    </>
  )
}

export interface DowntimeProps {
  readonly gaps: readonly GapJson[]
  /** Accept-sequence numbers without an event. */
  readonly missing: number
}

/** Times without a receiver, and what the sender no longer retries. */
export function Downtime({ gaps, missing }: DowntimeProps) {
  const isOperator = useIsOperator()
  const open = gaps.filter(isOpen).length
  return (
    <Panel
      title="Downtime"
      note="the sender retries for 10 h 36 min"
      isFlush
      actions={
        isOperator &&
        (open > 0 || missing > 0) && (
          <Action
            label="Acknowledge"
            title="Acknowledge missing and lost events?"
            run={async ({ api }) => void (await api.send('POST', '/gaps/acknowledge'))}
          >
            The warnings end. Nothing is fetched: replay lost events in the sender’s dashboard first, or reconcile
            below.
          </Action>
        )
      }
    >
      {missing > 0 && (
        <p className="ui-error">
          {formatCount(missing)} accepted events are missing from the database: the file was damaged or replaced.
        </p>
      )}
      {gaps.length === 0 ? (
        <Empty title="No downtime recorded">
          Times without a receiver appear here after it starts again, such as after a stop of{' '}
          <code>onchain-inbox serve</code>.
        </Empty>
      ) : (
        <DataTable caption="Downtime" columns={columns} rows={gaps} rowKey={({ from, kind }) => `${from} ${kind}`} />
      )}
    </Panel>
  )
}
