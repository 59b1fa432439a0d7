import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createRandomStream } from '../../src/emulator/random.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { migrations } from '../../src/inbox/sqlite/migrations.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { counts } from '../counts.ts'
import { runCli } from '../support/cli.ts'
import { checkHistory } from '../support/checks.ts'
import { requeueCrashed } from '../support/dead-letters.ts'
import { readEffects, readInbox } from '../support/ledger.ts'
import { serveCommand } from '../support/sidecar.ts'
import { freePort } from '../support/stream-sinks.ts'
import { until } from '../support/until.ts'
import { historyOf } from './power-loss-check.ts'
import { createStage, seed } from './stage.ts'
// This process reads the file with the schema of the next version, too.
import { nextNumber } from './upgrade-newer.ts'

// The import above adds a migration. Later files in this process must not see it.
afterAll(() => void (migrations as unknown[]).pop())

const nextVersion = fileURLToPath(new URL('upgrade-newer.ts', import.meta.url))
const [node = '', ...serve] = serveCommand
/** `NEXT=--import=…` in the environment starts the next version. */
const command = ['sh', '-c', `exec "$0" $NEXT "$@"`, node, ...serve]
const newer = { NEXT: `--import=${nextVersion}` }
const older = { NEXT: '' }

test(`an upgrade with ${counts.upgradeBacklog} open runs survives ${counts.upgradeKills} kills; the older version refuses the file and serves the copy (SEED=${seed})`, async () => {
  const random = createRandomStream(seed, 'upgrade')
  await using stage = await createStage({ command })
  const { sidecar, client, load } = stage
  const file = sidecar.databaseFile
  const copy = `${file}.before-${nextNumber}`

  await sidecar.start(older)
  await stage.acknowledge(60)
  await sidecar.drained()
  expect(await (await sidecar.admin('pause', { method: 'POST' })).json()).toMatchObject({ paused: true })
  await stage.acknowledge(counts.upgradeBacklog)
  await load.heal()
  const before = (await readEffects(sidecar.effectsFile)).length
  expect(await (await sidecar.admin('resume', { method: 'POST' })).json()).toMatchObject({ paused: false })
  await until(async () => (await readEffects(sidecar.effectsFile)).length > before + 50, 'effects')
  await sidecar.kill()

  const halt = join(sidecar.dir, 'halted')
  const ports = { INBOX_PORT: String(await freePort()), INBOX_ADMIN_PORT: String(await freePort()) }
  for (let round = 0; round < counts.upgradeKills; round += 1) {
    // Kills at random times come last: they may happen after the migration.
    const isHalted = round < counts.upgradeKills / 2
    sidecar.launch({ ...newer, ...ports, ...(isHalted && { HALT: halt }) })
    if (isHalted) await until(() => existsSync(halt), 'the migration has halted', 60_000)
    if (isHalted && round === 0) {
      const probes = Object.values(ports).flatMap((port) =>
        ['healthz', 'readyz'].map((path) => fetch(`http://127.0.0.1:${port}/${path}`)),
      )
      expect((await Promise.all(probes)).map(({ status }) => status)).toEqual([200, 503, 200, 503])
      expect(await sidecar.log('upgrading the database')).toMatchObject({ step: `copying to ${copy}` })
      await sidecar.output.waitFor(({ step }) => step === `migration ${nextNumber}-note`, 'the step', 5_000)
    } else await wait(random.integer(0, 800))
    await sidecar.kill()
    await rm(halt, { force: true })
  }
  await sidecar.start(newer)
  await stage.acknowledge(60)
  await sidecar.kill()

  const bytes = bytesOf(file)
  expect(await sidecar.run(older)).toEqual({ code: 1, signal: null })
  expect(sidecar.output.text).toContain('"code":"database_newer"')
  expect(sidecar.output.text).toContain(`it has the migration ${nextNumber}-note`)
  expect(bytesOf(file)).toEqual(bytes)
  const refused = sidecar.lives.at(-1)

  await sidecar.start(newer)
  await load.heal()
  await sidecar.drained()
  const requeued = await requeueCrashed(sidecar)
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })

  const backlog = client.requests.filter(({ op }) => op === 'deliver').length
  expect(backlog).toBeGreaterThan(counts.upgradeBacklog)
  const env = { INBOX_DATABASE_URL: `sqlite:${file}`, INBOX_SECRETS: 'none-is-needed-here' }
  const verified = await runCli(['backup', '--verify', copy, '--json'], { cwd: sidecar.dir, env })
  expect(verified).toMatchObject({ code: 0 })
  const inCopy = JSON.parse(verified.out) as { readonly events: number; readonly openRuns: number }
  expect(inCopy.openRuns).toBeGreaterThan(0)

  const { stored, work, missingSeqs } = await readInbox(
    createLocalSqliteInbox(await openFileStore(file, { clock: systemClock }), { clock: systemClock }),
  )
  const effects = await readEffects(sidecar.effectsFile)
  const history = historyOf(sidecar, client)
  const lives = history.lives.filter((life) => life !== refused)
  expect(checkHistory({ ...history, lives, stored, effects, requeued })).toEqual([])
  expect(missingSeqs).toBe(0)
  expect(new Set(work.map(({ state }) => state))).toEqual(new Set(['done']))
  expect(work).toHaveLength(stored.length)

  // Downgrade: the copy replaces the file. Later events are missing until they are sent again.
  expect(await runCli(['restore', copy], { cwd: sidecar.dir, env })).toMatchObject({ code: 0 })
  await sidecar.start(older)
  const opened = await sidecar.log('database opened')
  expect(opened['lastSeq']).toBe(inCopy.events)
  expect(sidecar.output.text).toContain('accepted events are missing')
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
}, 1_800_000)

function bytesOf(file: string): string[] {
  return ['', '-wal'].map((side) =>
    existsSync(file + side)
      ? createHash('sha256')
          .update(readFileSync(file + side))
          .digest('hex')
      : 'none',
  )
}
