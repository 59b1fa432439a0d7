import { codeOf } from '../base/errors.ts'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { z } from 'zod'
import { parseExactJson } from '../base/exact-json.ts'
import type { EventSummary } from '../inbox/port.ts'
import { toEventSummaryJson } from './events.ts'
import { eventQuery } from './parse.ts'
import { describeRoute, type AdminContext } from './route.ts'
import { toBuffer } from './wire.ts'

export const exportParameters = z.strictObject({
  ...eventQuery,
  format: z.enum(['csv', 'ndjson']).describe('csv or ndjson'),
})

export const exportRoute = describeRoute({
  group: 'events',
  at: 'GET /export',
  summary: 'Download all events that match a filter, newest first, with their bodies',
  query: exportParameters,
  gives: 'table',
})

const pageSize = 200
const columns = ['seq', 'received_at', 'created_at', 'id', 'type', 'network', 'address', 'status'] as const

/** Starts of cells that spreadsheets take for formulas, also as full-width characters. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/u
const special = /[",\r\n]/

/** A row of CSV (RFC 4180). An apostrophe keeps spreadsheets from taking a text for a formula. */
export function toCsvRow(cells: readonly (string | number | null)[]): string {
  const texts = cells.map((cell) => {
    if (cell === null || typeof cell === 'number') return String(cell ?? '')
    const text = formula.test(cell) ? `'${cell}` : cell
    return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  })
  return `${texts.join(',')}\r\n`
}

/** Writes the matching events to a response as fast as its reader takes them. Ends early when the reader leaves. */
export async function sendExport(
  { inbox }: AdminContext,
  { format, ...filter }: z.output<typeof exportParameters>,
  response: Response,
): Promise<void> {
  const read = (cursor: string | null) =>
    inbox.events({ ...filter, isDetailed: true, limit: pageSize, ...(cursor !== null && { cursor }) })

  /** A list leaves out large bodies. */
  async function bodyOf({ id, detail }: EventSummary): Promise<string | null> {
    const raw = detail?.body ?? (await inbox.event(id))?.raw
    return raw === undefined || raw.length === 0 ? null : toBuffer(raw).toString()
  }

  async function* lines(page: Awaited<ReturnType<typeof read>>): AsyncGenerator<string> {
    if (format === 'csv') yield toCsvRow([...columns, 'body'])
    for (let { data, nextCursor } = page; ; { data, nextCursor } = await read(nextCursor)) {
      for (const event of data) yield toLine(event, await bodyOf(event), format)
      if (nextCursor === null) return
    }
  }

  // Read before the headers are sent: its failure has a response of its own.
  const first = await read(null)
  response.setHeader('Content-Type', format === 'csv' ? 'text/csv' : 'application/x-ndjson')
  response.setHeader('Content-Disposition', `attachment; filename="events.${format}"`)
  try {
    await pipeline(lines(first), response)
  } catch (error) {
    if (codeOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  }
}

function toLine(event: EventSummary, body: string | null, format: 'csv' | 'ndjson'): string {
  const summary = toEventSummaryJson(event)
  if (format === 'csv') return toCsvRow([...columns.map((name) => summary[name]), body])
  return `${JSON.stringify({ ...summary, envelope: body === null ? null : parseExactJson(body) })}\n`
}
