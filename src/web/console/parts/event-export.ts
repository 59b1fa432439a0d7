import { toCsv } from '../../ui/csv.ts'
import { download } from '../../ui/download.ts'
import type { EventSummaryJson } from '../contract.ts'

const names = ['seq', 'received_at', 'created_at', 'id', 'type', 'network', 'address', 'status'] as const

/** Saves rows as a table for spreadsheets, or as a line of JSON each. */
export function exportEvents(kind: 'csv' | 'ndjson', rows: readonly EventSummaryJson[]): void {
  if (kind === 'csv') {
    const cells = rows.map((row) => names.map((name) => row[name]))
    download('events.csv', 'text/csv;charset=utf-8', toCsv(names, cells))
  } else {
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    download('events.ndjson', 'application/x-ndjson', lines)
  }
}
