import { useApiClient } from '../../ui/api.ts'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { ReplayJson } from '../contract.ts'
import type { List } from './bulk-list.ts'
import { LoadMore } from './bulk-more.tsx'
import { Clipped } from './bulk-text.tsx'
import { filterInWords } from './replays-words.ts'
import { useRole } from './role.ts'

const tones: Readonly<Record<ReplayJson['state'], Tone>> = { running: 'info', done: 'good', cancelled: 'neutral' }

/** Replays with how far they are, newest first. */
export function ReplayList({ list }: { readonly list: List<ReplayJson> }) {
  const api = useApiClient()
  const isOperator = useRole() === 'operator'
  const cancel = async (id: number) => {
    await api.send('POST', `/replays/${id}/cancel`)
    list.reload()
  }
  return (
    <>
      <DataTable
        caption="Replays"
        rows={list.rows}
        error={list.error}
        onRetry={list.reload}
        rowKey={({ id }) => String(id)}
        empty={
          <EmptyState title="No replays yet">
            A replay runs stored events again: after a handler was mended, or for one that is new. One event is replayed
            on its own page.
          </EmptyState>
        }
        columns={[
          ...firstColumns,
          ...(isOperator
            ? [
                {
                  header: 'Action',
                  cell: ({ id, state }: ReplayJson) =>
                    state === 'running' && (
                      <ConfirmButton
                        label="Cancel"
                        name={`Cancel replay ${id}`}
                        title="Cancel this replay?"
                        verb="Cancel the replay"
                        onConfirm={() => cancel(id)}
                      >
                        Runs of it that wait are dropped, and no more are created. What was done stays done.
                      </ConfirmButton>
                    ),
                },
              ]
            : []),
          ...columns,
        ]}
      />
      <LoadMore list={list} />
    </>
  )
}

const firstColumns: readonly Column<ReplayJson>[] = [
  { header: 'Replay', isName: true, cell: ({ id }) => `#${id}` },
  { header: 'State', cell: ({ state }) => <StatusBadge status={state} tone={tones[state] ?? 'neutral'} /> },
]

const columns: readonly Column<ReplayJson>[] = [
  {
    header: 'Looked at',
    cell: ({ id, progress }) => (
      <span className="bulk-beside">
        <progress className="bulk-progress" max={1} value={progress} aria-label={`How far replay ${id} is`} />
        {Math.floor(progress * 100)} %
      </span>
    ),
  },
  { header: 'What', cell: ({ filter }) => <Clipped value={filterInWords(filter)} most={240} /> },
  { header: 'Events', isNumber: true, cell: ({ events }) => formatCount(events) },
  { header: 'Runs', isNumber: true, cell: ({ runs }) => formatCount(runs) },
  { header: 'Open', isNumber: true, cell: (replay) => formatCount(replay.open_runs) },
  { header: 'Left out', isNumber: true, cell: ({ skipped }) => formatCount(skipped) },
  {
    header: 'Pace',
    cell: (replay) => (
      <span className="bulk-beside">
        {replay.per_second === null ? 'unlimited' : `${formatNumber(replay.per_second)} per second`}
      </span>
    ),
  },
  { header: 'New keys', cell: (replay) => (replay.new_keys ? 'yes' : 'no') },
  { header: 'Began', cell: (replay) => <Time at={replay.created_at} /> },
  { header: 'Ended', cell: (replay) => <Time at={replay.ended_at} /> },
]
