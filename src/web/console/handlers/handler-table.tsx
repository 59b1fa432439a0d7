import { Link } from 'wouter'
import { pathWith } from '../../ui/api.tsx'
import { formatCount, formatMs, formatNumber, formatShare } from '../../ui/format.ts'
import { Sparkline } from '../../ui/sparkline.tsx'
import { Empty } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import { ageColumn, textColumn } from '../../ui/columns.tsx'
import type { HandlerJson } from '../../../admin/handlers.ts'
import { byTrouble, concurrencyOf, lastErrorOf, pendingOf, retriesOf, stateOf } from './handler.ts'

/** Columns of the overview. */
const columns: readonly Column<HandlerJson>[] = [
  textColumn('Name', 'name', { width: '16%', isName: true }),
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
    cell: ({ pace }) => {
      const rate = pace?.error_rate ?? null
      return <span className={rate !== null && rate > 0 ? 'ui-text-bad' : undefined}>{formatShare(rate)}</span>
    },
  },
  { header: 'p95', width: '4.25rem', isNumber: true, cell: ({ pace }) => formatMs(pace?.p95_ms) },
  { header: 'Pending', width: '5.25rem', isNumber: true, cell: (handler) => formatCount(pendingOf(handler)) },
  ageColumn('Oldest', 'oldest_open_at', { width: '4.5rem' }),
  {
    header: 'Dead',
    width: '4rem',
    isNumber: true,
    cell: ({ name, dead, held }) => (
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
    cell: (handler) => (
      <span className="ui-text-bad">
        <Line value={lastErrorOf(handler)} fallback="" />
      </span>
    ),
  },
]

/** Columns of the page Handlers. */
const allColumns: readonly Column<HandlerJson>[] = [
  ...columns.filter(({ header }) => header !== 'Last 5 min' && header !== 'Last error'),
  { header: 'p50', width: '4rem', isNumber: true, isOptional: true, cell: ({ pace }) => formatMs(pace?.p50_ms) },
  {
    header: 'Concurrency',
    width: '7.5rem',
    isNumber: true,
    isOptional: true,
    cell: (handler) => <span title={concurrencyOf(handler)}>{formatCount(handler.settings?.concurrency)}</span>,
  },
  {
    header: 'Retries',
    width: '4.5rem',
    isNumber: true,
    isOptional: true,
    cell: (handler) => {
      const { retry } = handler.settings ?? {}
      return (
        <span title={retriesOf(handler)}>{retry === null ? 'custom' : formatCount(retry && retry.attempts - 1)}</span>
      )
    },
  },
  ...columns.filter(({ header }) => header === 'Last error'),
]

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
      columns={isMain ? allColumns : columns}
      rows={handlers.toSorted(byTrouble)}
      rowKey={({ name }) => name}
      hrefOf={({ name }) => pathWith('/handlers', { open: name })}
      isMain={isMain}
      openKey={openName ?? null}
    />
  )
}
