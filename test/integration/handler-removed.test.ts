import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventDelivery, RecordingClient } from '../support/history.ts'
import { Sidecar } from '../support/sidecar.ts'

const failing = `export default { type: '*', run() { throw new Error('not now') } }`

test('a start logs removed handlers with open runs', async () => {
  await using sidecar = await Sidecar.start({ handlers: { 'trades.mjs': failing } })
  using client = new RecordingClient({ url: () => sidecar.url })
  await client.deliver(eventDelivery({ id: 'evt_1' }))
  await sidecar.log('attempt failed, retry scheduled')
  await sidecar.stop()

  const empty = join(sidecar.dir, 'empty')
  await mkdir(empty)
  await sidecar.start({ INBOX_HANDLERS: empty })
  expect(await sidecar.log('pending runs without handler')).toMatchObject({
    level: 'warn',
    handlers: [{ handler: 'trades', openRuns: 1 }],
  })
})
