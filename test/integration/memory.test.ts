import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { noop, writeHandlers } from '../bench/contenders.ts'
import { measureRest } from '../bench/memory.ts'
import { benchSecret, runLoad, startProduct } from '../bench/server-process.ts'
import { counts } from '../counts.ts'
import { shared } from '../support/shared.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

test('a burst leaves no memory behind', { timeout: 240_000 }, async () => {
  await using dir = await createTempDir()
  const handlersDir = writeHandlers(join(dir.path, 'handlers'), { handler: noop })
  const cli = join(await shared('dist'), 'src/cli.js')
  const server = await startProduct({ databaseUrl: `sqlite:${join(dir.path, 'inbox.db')}`, handlersDir, cli })
  onTestFinished(() => server.stop())
  const load = { ports: [server.port], path: '/webhooks', secret: benchSecret, connections: 32, keys: 500 }
  await runLoad({ ...load, events: 60_000, idPrefix: 'burst-' })
  // Threads give memory back in the first quiet half-minute. Some 195 MB stay; 600 bytes per event would be 36 MB more.
  await until(() => server.memoryMb() < 225, `${server.memoryMb()} MB fall below 225`, 120_000)
})

test.skipIf(counts.restSeconds === 0)('memory is flat over an hour', { timeout: 4_000_000 }, async () => {
  await using dir = await createTempDir()
  for (const { name, sixthMb, restMb } of await measureRest(
    dir.path,
    counts.restSeconds,
    join(await shared('dist'), 'src/cli.js'),
  ))
    expect(restMb / sixthMb, name).toBeLessThan(1.1)
})
