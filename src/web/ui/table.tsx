import { Checkbox, Table } from '@mantine/core'
import { useHotkeys, useMediaQuery } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, type MouseEvent, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { formatBytes, formatCount } from './format.ts'
import { Line } from './text.tsx'
import { Age, Time } from './values.tsx'

export interface Column<Row> {
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** CSS width; the columns without one share the rest. */
  readonly width?: string
  readonly isNumber?: boolean
  /** Names the row: its link opens the row. */
  readonly isName?: boolean
  /** Left out where the table is less than 46rem wide, such as next to a panel. */
  readonly isOptional?: boolean
  /** On narrow screens rows are cards of `Header value` lines: `plain` drops the header, `hidden` the cell. */
  readonly narrow?: 'plain' | 'hidden'
}

export interface Selection<Key> {
  readonly keys: ReadonlySet<Key>
  toggle(key: Key): void
  setAll(keys: readonly Key[]): void
}

export interface DataTableProps<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** In place of no rows. */
  readonly empty?: ReactNode
  /** Page or panel that a row opens. */
  readonly hrefOf?: (row: Row) => string
  /** Key of the row that is open in a panel; null: none. */
  readonly openKey?: string | null
  readonly selection?: Selection<string>
  /** Scrolls in itself, renders visible rows only, and takes the keys `j`, `k` and `x`. */
  readonly isMain?: boolean
  /** Called near the last row. */
  readonly onEnd?: () => void
  /** Called with whether the first row is in sight. */
  readonly onTop?: (isTop: boolean) => void
}

/** Pixels, as in ui.css. */
const rowHeight = 32
const cardHeight = 76
const rowsBeforeEnd = 30

/** Rows of 32 pixels. On narrow screens each row is a card. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const {
    caption,
    columns,
    rows,
    rowKey,
    empty,
    hrefOf,
    openKey = null,
    selection,
    isMain = false,
    onEnd,
    onTop,
  } = props
  const box = useRef<HTMLDivElement>(null)
  const [, navigate] = useLocation()
  const isNarrow = useMediaQuery('(max-width: 52rem)', false, { getInitialValueInEffect: false })
  const virtualizer = useVirtualizer({
    count: rows.length,
    enabled: isMain,
    getScrollElement: () => box.current,
    estimateSize: () => (isNarrow ? cardHeight : rowHeight),
    getItemKey: (index) => rowKey(rows[index] as Row),
    overscan: 12,
  })
  useEffect(() => virtualizer.measure(), [virtualizer, isNarrow])
  const items = isMain ? virtualizer.getVirtualItems() : null
  const shown = items === null ? rows.map((_, index) => index) : items.map(({ index }) => index)
  const isNearEnd = isMain && (shown.at(-1) ?? 0) >= rows.length - rowsBeforeEnd
  useEffect(() => {
    if (isNearEnd) onEnd?.()
  }, [isNearEnd, rows.length, onEnd])

  const move = (step: 1 | -1) => {
    const active = box.current?.querySelector<HTMLElement>('tr:has(:focus)')?.dataset['index']
    const open = rows.findIndex((row) => rowKey(row) === openKey)
    const current = active === undefined ? open : Number(active)
    const next = current < 0 ? Math.max(0, virtualizer.range?.startIndex ?? 0) : current + step
    const row = rows[next]
    if (row === undefined) return
    virtualizer.scrollToIndex(next)
    if (openKey !== null && hrefOf !== undefined) navigate(hrefOf(row), { replace: true })
    // The row may have to be rendered first.
    requestAnimationFrame(() =>
      box.current
        ?.querySelector<HTMLElement>(`tr[data-index="${next}"] :is(a, button, input)`)
        ?.focus({ preventScroll: true }),
    )
  }
  useHotkeys(
    isMain
      ? [
          ['j', () => move(1)],
          ['k', () => move(-1)],
          ['x', () => box.current?.querySelector<HTMLElement>('tr:has(:focus) input[type=checkbox]')?.click()],
        ]
      : [],
  )

  const open = (event: MouseEvent<HTMLElement>, row: Row) => {
    // Clicks in a dialog that the row has opened also arrive here.
    const isControl =
      !(event.target instanceof Element && event.currentTarget.contains(event.target)) ||
      event.target.closest('a, button, input, summary, label') !== null
    const hasSelection = (window.getSelection()?.toString() ?? '') !== ''
    if (hrefOf !== undefined && !isControl && !hasSelection) navigate(hrefOf(row), { replace: openKey !== null })
  }
  const allKeys = rows.map(rowKey)
  const [before, after] =
    items === null ? [0, 0] : [items[0]?.start ?? 0, virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0)]

  if (rows.length === 0 && empty !== undefined) return empty
  return (
    <div
      ref={box}
      className={isMain ? 'ui-table ui-table-main' : 'ui-table'}
      {...(isMain && { role: 'region', 'aria-label': caption, tabIndex: 0 })}
      onScroll={(event) => onTop?.(event.currentTarget.scrollTop < rowHeight)}
    >
      <Table role="table" aria-label={caption} aria-rowcount={rows.length + 1} layout="fixed" tabularNums>
        <thead role="rowgroup">
          <tr role="row">
            {selection !== undefined && (
              <th role="columnheader" className="ui-cell-select">
                <Checkbox
                  size="xs"
                  aria-label="Select all rows"
                  checked={rows.length > 0 && selection.keys.size === rows.length}
                  indeterminate={selection.keys.size > 0 && selection.keys.size < rows.length}
                  onChange={(event) => selection.setAll(event.currentTarget.checked ? allKeys : [])}
                />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.header} role="columnheader" className={classOf(column)} style={{ width: column.width }}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {before > 0 && <Spacer height={before} />}
          {shown.map((index) => {
            const row = rows[index]
            if (row === undefined) return null
            const key = rowKey(row)
            return (
              <tr
                key={key}
                role="row"
                aria-rowindex={index + 2}
                aria-current={key === openKey || undefined}
                data-index={index}
                data-opens={hrefOf !== undefined || undefined}
                {...(isMain && { ref: virtualizer.measureElement })}
                onClick={(event) => open(event, row)}
              >
                {selection !== undefined && (
                  <td role="cell" className="ui-cell-select">
                    <Checkbox
                      size="xs"
                      aria-label={`Select row ${index + 1}`}
                      checked={selection.keys.has(key)}
                      onChange={() => selection.toggle(key)}
                    />
                  </td>
                )}
                {columns.map((column) => (
                  <td
                    key={column.header}
                    role={column.isName ? 'rowheader' : 'cell'}
                    data-label={column.narrow === 'plain' || column.isName ? undefined : column.header}
                    className={classOf(column)}
                  >
                    {column.isName && hrefOf !== undefined ? (
                      <Link className="ui-row-link" href={hrefOf(row)} replace={openKey !== null}>
                        {column.cell(row)}
                      </Link>
                    ) : (
                      column.cell(row)
                    )}
                  </td>
                ))}
              </tr>
            )
          })}
          {after > 0 && <Spacer height={after} />}
        </tbody>
      </Table>
    </div>
  )
}

/** Takes the place of rows that are not rendered. */
function Spacer({ height }: { readonly height: number }) {
  return (
    <tr aria-hidden="true" className="ui-spacer">
      <td style={{ height }} />
    </tr>
  )
}

function classOf<Row>({ isNumber, isName, isOptional, narrow }: Column<Row>): string {
  const classes = [
    isNumber && 'ui-end',
    isName && 'ui-cell-name',
    isOptional && 'ui-optional',
    narrow === 'hidden' && 'ui-wide-only',
  ]
  return classes.filter(Boolean).join(' ')
}

// Columns that show one member of a row.

type Options<Row> = Omit<Column<Row>, 'header' | 'cell'>

function columnOf(cellOf: (value: unknown) => ReactNode, defaults: Options<never> = {}) {
  return <Row,>(header: string, member: keyof Row, options: Options<Row> = {}): Column<Row> => ({
    header,
    cell: (row) => cellOf(row[member]),
    ...defaults,
    ...options,
  })
}

const numeric = { isNumber: true, width: '5rem' } as const
const timeOf = (value: unknown) => (typeof value === 'string' ? value : null)

/** External text on one line. */
export const textColumn = columnOf((value) => <Line value={value} />)
export const codeColumn = columnOf((value) => (
  <code>
    <Line value={value} />
  </code>
))
export const countColumn = columnOf(formatCount, numeric)
export const bytesColumn = columnOf(formatBytes, { ...numeric, width: '6rem' })
export const ageColumn = columnOf((value) => <Age at={timeOf(value)} />, numeric)
export const timeColumn = columnOf((value) => <Time at={timeOf(value)} />, { width: '9.75rem' })
