import { Table } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorState, LoadingState } from './states.tsx'

export interface Column<Row> {
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers stand at the end of their cell. */
  readonly isNumber?: boolean
  /** Names the row to who hears it. */
  readonly isName?: boolean
}

export interface DataTableProps<Row> {
  /** What the rows are; heard, and seen where there is no heading beside the table. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** Null while they are not known. */
  readonly rows: readonly Row[] | null
  readonly rowKey: (row: Row) => string
  /** In place of no rows. */
  readonly empty: ReactNode
  readonly error?: Error | null
  readonly onRetry?: () => void
}

/** Rows under a caption, in a box of their own that scrolls sideways where the page is narrow. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, rowKey, empty, error = null, onRetry } = props
  if (rows === null && error === null) return <LoadingState what={caption.toLowerCase()} />
  return (
    <>
      <ErrorState error={error} {...(onRetry && { onRetry })} />
      {rows !== null && rows.length === 0 && empty}
      {rows !== null && rows.length > 0 && (
        <div className="ui-table-box" role="region" aria-label={caption} tabIndex={0}>
          <Table highlightOnHover verticalSpacing="xs" className="ui-table">
            <caption className="ui-hidden">{caption}</caption>
            <thead>
              <tr>
                {columns.map(({ header, isNumber }) => (
                  <th key={header} scope="col" className={isNumber ? 'ui-number' : undefined}>
                    {header}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={rowKey(row)}>
                  {columns.map((column) => (
                    <Cell key={column.header} column={column} row={row} />
                  ))}
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
    </>
  )
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  const className = column.isNumber ? 'ui-number' : undefined
  if (column.isName)
    return (
      <th scope="row" className={className}>
        {column.cell(row)}
      </th>
    )
  return <td className={className}>{column.cell(row)}</td>
}
