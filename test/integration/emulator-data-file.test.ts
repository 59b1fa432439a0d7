import Sqlite from 'better-sqlite3'
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createEmulator, type Begun, type EmulatorOptions } from '../../src/emulator/emulator.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { postJson, seen, stageOf, testSeed, type Stage } from './emulator-stage.ts'

const closedPort = 'http://127.0.0.1:9/hook'

async function open(dataFile: string, options: Partial<EmulatorOptions> = {}): Promise<Stage & { begun: Begun }> {
  const listen = { host: '127.0.0.1', port: 0 }
  const emulator = createEmulator({ seed: testSeed(), listen, dataFile, ...options })
  const begun = await emulator.start()
  return { ...stageOf(emulator), begun }
}

test('accounts, keys, webhooks, alerts, cursors and the world outlive a restart', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.db')
  const first = await open(file)
  expect(first.begun.isNew).toBe(true)
  await first.control('POST', '/clock/advance', { ms: 3_600_000 })
  await first.rest('/webhooks', postJson({ url: closedPort, events: ['pump.graduation'], secret: 'whsec_0123456789' }))
  const { address, network } = (await first.control('GET', '/world')).json.data.newestTokens[0]
  const alert = { type: 'price_above', address, network, threshold: 1e9, webhook_url: 'https://example.com/' }
  expect((await first.rest('/alerts', postJson(alert))).status).toBe(201)
  const made = await first.control('POST', '/keys', { account: 'desk', name: 'second', scopes: 'all' })
  await first.control('POST', '/world/story', { story: 'scam' })
  const page = (await first.rest('/tokens/search?q=a&limit=1')).json.meta.next_cursor
  const before = await seen(first)
  await first.emulator.stop()

  await using second = await open(file)
  expect(second.begun).toMatchObject({ isNew: false, drawn: [] })
  expect(await seen(second)).toEqual(before)
  expect((await second.rest('/alerts')).json.data).toMatchObject([{ address, threshold: 1e9 }])
  expect(second.emulator.accounts.webhooks()).toMatchObject([{ secret: 'whsec_0123456789' }])
  const headers = { Authorization: `Bearer ${made.json.data.value}` }
  expect((await second.rest(`/tokens/search?q=a&limit=1&cursor=${page}`, { headers })).status).toBe(200)
  expect((await second.control('POST', '/reset')).status).toBe(200)
  expect((await second.control('GET', '/clock')).json.data.now).toBe('2026-01-01T00:00:00.000Z')
})

test('R7 a restarted world continues like a world that never stopped', async () => {
  await using dir = await createTempDir()
  const bytes = async (isRestarted: boolean) => {
    const file = join(dir.path, `${isRestarted}.db`)
    let stage = await open(file)
    await stage.control('POST', '/world/story', { story: 'crash' })
    for (let hour = 0; hour < 3; hour++) {
      await stage.control('POST', '/clock/advance', { ms: 3_600_000 })
      if (!isRestarted) continue
      await stage.emulator.stop()
      stage = await open(file)
    }
    await using last = stage
    return await seen(last)
  }
  const [one, other] = [await bytes(false), await bytes(true)]
  expect(one.seq).toBeGreaterThan(10)
  expect(other.events).toEqual(one.events)
  expect(other.digest).toBe(one.digest)
})

test('a file is locked while a process uses it', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.db')
  const stage = await open(file)
  await expect(open(file)).rejects.toThrow(expect.objectContaining({ code: 'database_in_use', exitCode: 75 }))
  await stage.emulator.stop()
  await using again = await open(file)
  expect(again.begun.isNew).toBe(false)
})

test('rejects a file of another world or version and leaves it unchanged', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.db')
  await (await open(file)).emulator.stop()
  const refusal = async (options: Partial<EmulatorOptions> = {}, of = file) => {
    const before = await readFile(of)
    const error = await open(of, options).then(
      () => new Error('accepted'),
      (thrown: Error) => thrown,
    )
    expect(await readFile(of)).toEqual(before)
    return error.message
  }
  const other = testSeed({ world: { seed: 'other', history: '0s', activity: 2 } })
  expect(await refusal({ seed: other })).toMatch(
    /belongs to another world: seed is "test" in the file, "other" in the settings; activity is 1 in the file, 2 in the settings\./,
  )
  expect(await refusal({ seed: testSeed({ stories: ['scam'] }) })).toMatch(
    /accounts, tracked wallets, thresholds, networks or stories differ/,
  )

  const old = join(dir.path, 'old.db')
  await copyFile(file, old)
  const outdated = new Sqlite(old)
  outdated.pragma('user_version = 4')
  outdated.close()
  expect(await refusal({}, old)).toMatch(/written by an earlier version.* Delete it, or choose another file/)

  const newer = new Sqlite(file)
  newer.pragma('user_version = 6')
  newer.close()
  expect(await refusal()).toMatch(/was written by a newer version \(format 6, expected 5\)/)
})

test('in mode real the world catches up with the clock without sending those events', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.db')
  const seed = testSeed({ clock: { mode: 'real' } })
  const clock = createTestClock()
  await (await open(file, { seed, clock })).emulator.stop()
  await clock.advance(3_600_000)
  let sent = 0
  await using stage = await open(file, { seed, clock, onEvent: () => sent++ })
  expect((await stage.control('GET', '/clock')).json.data.now).toBe(new Date(clock.now()).toISOString())
  expect((await seen(stage)).seq).toBeGreaterThan(0)
  expect(sent).toBe(0)
})

test('rejects a file that would need months of catching up, and says how to continue', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.db')
  const first = await open(file)
  await first.emulator.stop()
  const today = createTestClock(Date.UTC(2026, 10, 22))
  const seed = { ...testSeed(), clock: { mode: 'real' as const } }
  await expect(open(file, { seed, clock: today })).rejects.toThrow(
    /stopped at 2026-01-01T.*catching up to 2026-11-22T.*more than 62d.*--manual-clock or --speed/,
  )
  const again = await open(file)
  expect(again.begun.isNew).toBe(false)
  await again.emulator.stop()
})
