import type { ReactNode } from 'react'
import { formatBytes, formatCount } from './format.ts'
import type { Column } from './table.tsx'
import { Line } from './text.tsx'
import { Age, Time } from './values.tsx'

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
