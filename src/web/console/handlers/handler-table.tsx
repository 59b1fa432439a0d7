import { Link } from 'wouter'
import { pathWith } from '../../ui/api.tsx'
import { formatCount, formatMs, formatNumber, formatShare } from '../../ui/format.ts'
import { Sparkline } from '../../ui/sparkline.tsx'
import { Empty } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import { Age } from '../../ui/values.tsx'
import type { HandlerJson } from '../contract.ts'
import { byTrouble, errorRateOf, lastErrorOf, pendingOf, stateOf } from './handler.ts'

const columns: readonly Column<HandlerJson>[] = [
  { header: 'Name', width: '19%', isName: true, cell: ({ name }) => <Line value={name} max={60} /> },
  { header: 'Kind', width: '4.75rem', isOptional: true, cell: ({ kind }) => kind ?? '–' },
  {
    header: 'State',
    width: '7.25rem',
    narrow: 'plain',
    cell: (handler) => {
      const [name, tone] = stateOf(handler)
      return <Status tone={tone}>{name}</Status>
    },
  },
  {
    header: 'Runs/min',
    width: '5.5rem',
    isNumber: true,
    cell: ({ pace }) => (pace === null ? '–' : formatNumber(Math.round(pace.per_second * 60))),
  },
  {
    header: 'Last 5 min',
    width: '5.75rem',
    isOptional: true,
    narrow: 'hidden',
    cell: ({ name, pace }) =>
      pace !== null && <Sparkline values={pace.series} label={`Runs of ${shortText(name)} over five minutes`} />,
  },
  {
    header: 'Errors',
    width: '4.5rem',
    isNumber: true,
    cell: (handler) => {
      const rate = errorRateOf(handler)
      return <span className={rate !== null && rate > 0 ? 'ui-text-bad' : undefined}>{formatShare(rate)}</span>
    },
  },
  {
    header: 'p50',
    width: '4rem',
    isNumber: true,
    isOptional: true,
    narrow: 'hidden',
    cell: ({ pace }) => formatMs(pace?.p50_ms),
  },
  { header: 'p95', width: '4.25rem', isNumber: true, cell: ({ pace }) => formatMs(pace?.p95_ms) },
  { header: 'Pending', width: '5.25rem', isNumber: true, cell: (handler) => formatCount(pendingOf(handler)) },
  { header: 'Oldest', width: '4.5rem', isNumber: true, cell: ({ oldest_open_at: at }) => <Age at={at} /> },
  {
    header: 'Dead',
    width: '4rem',
    isNumber: true,
    cell: ({ name, dead, held }) =>
      dead + held === 0 ? (
        '0'
      ) : (
        <Link
          href={pathWith('/dead-letters', { handler: name })}
          aria-label={`${dead + held} dead letters of ${shortText(name)}`}
        >
          {formatCount(dead + held)}
        </Link>
      ),
  },
  {
    header: 'Last error',
    isOptional: true,
    cell: (handler) => {
      const error = lastErrorOf(handler)
      return error !== null && <Line value={error} />
    },
  },
]

const overviewColumns = columns.filter(({ header }) => header !== 'p50')

export interface HandlerTableProps {
  readonly handlers: readonly HandlerJson[]
  /** Present on the Handlers page: the name of the handler in the panel; null: none. */
  readonly openName?: string | null
}

/** Handlers sorted by trouble. */
export function HandlerTable({ handlers, openName }: HandlerTableProps) {
  if (handlers.length === 0)
    return (
      <Empty title="No handlers">
        Put a file into the folder of <code>INBOX_HANDLERS</code>, or create one with <code>onchain-inbox init</code>.
      </Empty>
    )
  const isMain = openName !== undefined
  return (
    <DataTable
      caption="Handlers and sinks"
      columns={isMain ? columns : overviewColumns}
      rows={handlers.toSorted(byTrouble)}
      rowKey={({ name }) => name}
      hrefOf={({ name }) => pathWith('/handlers', { open: name })}
      isMain={isMain}
      openKey={openName ?? null}
    />
  )
}
