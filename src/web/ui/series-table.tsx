import { Table } from '@mantine/core'
import { useState } from 'react'
import { PlainText } from './plain-text.tsx'
import type { ChartSeries } from './series-data.ts'
import { Time } from './time.tsx'

export interface SeriesTableProps {
  readonly title: string
  readonly times: readonly string[]
  readonly series: readonly ChartSeries[]
  readonly format: (value: number) => string
}

/** The values of a chart, newest first, without buckets in which there is nothing. In the page only while it is unfolded. */
export function SeriesTable({ title, times, series, format }: SeriesTableProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="ui-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <div className="ui-table-box ui-series-table" role="region" aria-label={`${title}, as a table`} tabIndex={0}>
          <Table className="ui-table">
            <caption className="ui-hidden">{title}</caption>
            <thead>
              <tr>
                <th scope="col">From (UTC)</th>
                {series.map(({ name }, place) => (
                  // Names come from elsewhere, and two may be the same.
                  <th key={place} scope="col" className="ui-number">
                    <PlainText value={name} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rowsOf(times, series).map(({ at, values }) => (
                <tr key={at}>
                  <th scope="row">
                    <Time at={at} />
                  </th>
                  {values.map((value, place) => (
                    <td key={place} className="ui-number">
                      {value === null ? '–' : format(value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
    </details>
  )
}

function rowsOf(times: readonly string[], series: readonly ChartSeries[]) {
  return times
    .map((at, index) => ({ at, values: series.map(({ values }) => values[index] ?? null) }))
    .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    .toReversed()
}
