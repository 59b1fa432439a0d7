import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { eventDelivery } from '../support/history.ts'
import { until } from '../support/until.ts'
import { createStage, seed } from './stage.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const mib = 1024 * 1024
/** `journal_size_limit`: a larger -wal is truncated to this size when it restarts. */
const walLimit = 64 * mib

/** Keeps a read transaction open until its input ends. */
const reader = `
const db = require('better-sqlite3')(process.argv[1], { readonly: true })
db.exec('BEGIN')
db.prepare('SELECT count(*) FROM event').get()
console.log('reading')
process.stdin.resume().on('end', () => process.exit())
`

async function blockCheckpoints(file: string) {
  const child = spawn(process.execPath, ['-e', reader, file], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const release = async () => {
    child.stdin.end()
    await exited
  }
  await Promise.race([once(child.stdout, 'data'), exited])
  expect(child.exitCode).toBe(null)
  return { [Symbol.asyncDispose]: release }
}

test(`a reader that blocks checkpoints for ${counts.blockedCheckpointMs / 1_000} s delays no acknowledgement; the -wal shrinks afterwards (SEED=${seed})`, async () => {
  await using stage = await createStage()
  const { sidecar, client, load } = stage
  const walBytes = () => (existsSync(`${sidecar.databaseFile}-wal`) ? statSync(`${sidecar.databaseFile}-wal`).size : 0)
  let large = 0
  /** Large events fill the -wal faster. */
  const deliverLarge = async () => {
    const id = `large_${(large += 1)}`
    const event = eventDelivery({ id, data: { note: 'x'.repeat(500_000) } })
    expect(await client.deliver(event)).toMatchObject({ answer: 200 })
  }

  await sidecar.start()
  await stage.acknowledge(60)
  const reading = await blockCheckpoints(sidecar.databaseFile)
  const before = client.requests.length
  const endsAt = performance.now() + counts.blockedCheckpointMs
  const sending = load.run()
  while (performance.now() < endsAt || walBytes() < walLimit + 16 * mib) await deliverLarge()
  const largest = walBytes()
  load.stop()
  await sending
  const answers = new Set(client.requests.slice(before).map(({ answer }) => answer))
  expect([...answers].filter((answer) => answer !== 200 && answer !== 401)).toEqual([])
  await sidecar.drained()

  await reading[Symbol.asyncDispose]()
  await until(
    async () => {
      await stage.acknowledge(20)
      return walBytes() <= walLimit
    },
    'the -wal shrinks to its limit',
    30_000,
  )
  const { findings } = await stage.examine()
  expect(findings).toEqual([])
  console.log(`the -wal grew to ${Math.round(largest / mib)} MiB`)
})
