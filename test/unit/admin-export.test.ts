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

test('an export ends when its reader leaves, who takes one line at a time', async () => {
  let lines = 0
  const response = new Writable({
    highWaterMark: 1,
    write(_chunk, _encoding, done) {
      if (++lines === 3) response.destroy()
      setImmediate(done)
    },
  })
  const inbox = { events: async () => ({ data: summaries, nextCursor: null, searchedTo: null }) }
  const context = { inbox } as unknown as AdminContext
  await sendExport(context, { format: 'ndjson' }, Object.assign(response, { setHeader() {} }) as unknown as Response)
  expect(lines).toBe(3)
})
