import { Link } from 'wouter'
import { pathWith } from '../../ui/api.tsx'
import { formatCount, formatMs, formatNumber, formatShare } from '../../ui/format.ts'
import { Sparkline } from '../../ui/tile.tsx'
import { Empty } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { DataTable, type Column, ageColumn, textColumn } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import { Until } from '../../ui/values.tsx'
import type { HandlerJson } from '../../../admin/handlers.ts'
import { byTrouble, concurrencyOf, lastErrorOf, pendingOf, retriesOf, stateOf } from './handler.ts'
import { TryNow } from './handler-actions.tsx'

const numeric = { isNumber: true, width: '3.75rem' } as const

/** Columns of the overview or of the page Handlers, or of both. */
const columns: readonly (Column<HandlerJson> & { readonly on?: 'overview' | 'page' })[] = [
  textColumn('Name', 'name', { isName: true, width: '14.5rem' }),
  {
    header: 'State',
    width: '7rem',
    narrow: 'plain',
    cell: (handler) => {
      const [name, tone] = stateOf(handler)
      return <Status tone={tone}>{name}</Status>
    },
  },
  {
    ...numeric,
    header: 'Runs/min',
    width: '5.25rem',
    cell: ({ pace }) => (pace === null ? '–' : formatNumber(Math.round(pace.per_second * 60))),
  },
  {
    on: 'overview',
    header: 'Last 5 min',
    width: '5.75rem',
    isOptional: true,
    narrow: 'hidden',
    cell: ({ name, pace }) =>
      pace !== null && <Sparkline values={pace.series} label={`Runs of ${shortText(name)} over five minutes`} />,
  },
  {
    ...numeric,
    header: 'Errors',
    cell: ({ pace }) => {
      const rate = pace?.error_rate ?? null
      return <span className={rate !== null && rate > 0 ? 'ui-text-bad' : undefined}>{formatShare(rate)}</span>
    },
  },
  { ...numeric, on: 'page', header: 'p50', isOptional: true, cell: ({ pace }) => formatMs(pace?.p50_ms) },
  { ...numeric, header: 'p95', cell: ({ pace }) => formatMs(pace?.p95_ms) },
  { ...numeric, header: 'Pending', width: '4.75rem', cell: (handler) => formatCount(pendingOf(handler)) },
  ageColumn('Oldest', 'oldest_open_at', numeric),
  {
    ...numeric,
    on: 'overview',
    header: 'Dead',
    width: '4rem',
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
    ...numeric,
    on: 'page',
    header: 'Concurrency',
    width: '6.5rem',
    isOptional: true,
    cell: (handler) => <span title={concurrencyOf(handler)}>{formatCount(handler.settings?.concurrency)}</span>,
  },
  {
    ...numeric,
    on: 'page',
    header: 'Retries',
    width: '4.25rem',
    isOptional: true,
    cell: (handler) => {
      const { retry } = handler.settings ?? {}
      return (
        <span title={retriesOf(handler)}>{retry === null ? 'custom' : formatCount(retry && retry.attempts - 1)}</span>
      )
    },
  },
  { on: 'overview', header: 'Last error', isOptional: true, cell: (handler) => <LastError handler={handler} /> },
  {
    on: 'page',
    header: 'Last error',
    cell: (handler) =>
      handler.shut?.reason === 'breaker' ? (
        <span className="console-summary">
          {!handler.paused && <TryNow handler={handler.name} />}
          <span title="Next attempt">
            <Until at={handler.shut.until} />
          </span>
          <LastError handler={handler} />
        </span>
      ) : (
        <LastError handler={handler} />
      ),
  },
]

function LastError({ handler }: { readonly handler: HandlerJson }) {
  const error = lastErrorOf(handler)
  return (
    error && (
      <span className="ui-text-bad">
        <Line value={error} />
      </span>
    )
  )
}

export const pageColumns = columns.filter(({ on }) => on !== 'overview')
const overviewColumns = columns.filter(({ on }) => on !== 'page')

export const noHandlers = (
  <Empty title="No handlers">
    Put a file into the folder of <code>INBOX_HANDLERS</code>, or create one with <code>onchain-inbox init</code>.
  </Empty>
)

/** Handlers sorted by trouble; a row opens its handler. */
export function HandlerTable({ handlers }: { readonly handlers: readonly HandlerJson[] }) {
  return (
    <DataTable
      caption="Handlers and sinks"
      columns={overviewColumns}
      rows={handlers.toSorted(byTrouble)}
      rowKey={({ name }) => name}
      hrefOf={({ name }) => pathWith('/handlers', { open: name })}
      empty={noHandlers}
    />
  )
}
