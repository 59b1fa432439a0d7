import { Writable } from 'node:stream'
import type { Response } from 'express'
import { expect, test } from 'vitest'
import { sendExport } from '../../src/admin/export.ts'
import type { AdminContext } from '../../src/admin/route.ts'
import type { EventSummary } from '../../src/inbox/port.ts'

const summaries = Array.from({ length: 50 }, (_, index) => ({
  seq: 50 - index,
  id: `evt_${index}`,
  type: 'x',
  network: null,
  address: null,
  createdAt: '',
  receivedAt: 0,
  status: 'done',
  detail: { body: Buffer.from('{}'), runs: [] },
})) as unknown as readonly EventSummary[]

/** Exports 50 events to a reader that takes one line at a time. */
async function exportTo(take: (response: Writable, lines: number) => void) {
  let lines = 0
  const response = new Writable({
    highWaterMark: 1,
    write(_chunk, _encoding, done) {
      take(response, ++lines)
      setImmediate(done)
    },
  })
  const inbox = { events: async () => ({ data: summaries, nextCursor: null, searchedTo: null }) }
  const context = { inbox } as unknown as AdminContext
  await sendExport(context, { format: 'ndjson' }, Object.assign(response, { setHeader() {} }) as unknown as Response)
  return { response, lines }
}

test('a slow reader gets every line, and no listener is left', async () => {
  const { response, lines } = await exportTo((writing) => expect(writing.listenerCount('close')).toBeLessThan(5))
  expect([lines, response.listenerCount('drain')]).toEqual([50, 0])
})

test('an export ends when its reader leaves', async () => {
  const { lines } = await exportTo((response, count) => {
    if (count === 3) response.destroy()
  })
  expect(lines).toBe(3)
})
