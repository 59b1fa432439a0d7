import { once } from 'node:events'
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
  response.setHeader('Content-Type', format === 'csv' ? 'text/csv' : 'application/x-ndjson')
  response.setHeader('Content-Disposition', `attachment; filename="events.${format}"`)
  if (format === 'csv') response.write(toCsvRow([...columns, 'body']))
  let cursor: string | null | undefined
  while (cursor !== null && !response.destroyed) {
    const page = await inbox.events({ ...filter, isDetailed: true, limit: pageSize, ...(cursor && { cursor }) })
    for (const event of page.data) {
      const line = toLine(event, await bodyOf(event), format)
      if (!response.write(line) && !response.destroyed) await drained(response)
      if (response.destroyed) return
    }
    cursor = page.nextCursor
  }
  response.end()

  /** A list leaves out large bodies. */
  async function bodyOf({ id, detail }: EventSummary): Promise<string | null> {
    const raw = detail?.body ?? (await inbox.event(id))?.raw
    return raw === undefined || raw.length === 0 ? null : toBuffer(raw).toString()
  }
}

/** Resolves when more can be written, or when the reader has left. */
async function drained(response: Response): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })])
  } finally {
    // A slow reader makes thousands of waits: each removes its listeners.
    settled.abort()
  }
}

function toLine(event: EventSummary, body: string | null, format: 'csv' | 'ndjson'): string {
  const summary = toEventSummaryJson(event)
  if (format === 'csv') return toCsvRow([...columns.map((name) => summary[name]), body])
  return `${JSON.stringify({ ...summary, envelope: body === null ? null : parseExactJson(body) })}\n`
}
