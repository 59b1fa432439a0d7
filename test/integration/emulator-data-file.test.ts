import { mkdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serialize } from 'node:v8'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createEmulator, type Begun, type EmulatorOptions } from '../../src/emulator/emulator.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
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
  const file = join(dir.path, 'emulator.data')
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

test('R81 the file is written every minute, also after a failure; a killed process resumes its pending deliveries', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.data')
  await using receiver = await createTestReceiver(answerStatus(500))
  const endpoints = [{ url: receiver.url, secret: 'whsec_0123456789abcdef' }]
  const wall = createTestClock()
  await using killed = await open(file, { wall, endpoints })
  killed.emulator.trigger('contract.ownership_changed')
  await killed.control('POST', '/clock/advance', { ms: 30_000 })
  const before = await seen(killed)
  const { pending, attempts } = killed.emulator.deliveries.counts()
  expect(pending).toBeGreaterThan(0)

  await mkdir(`${file}.tmp`)
  await wall.advance(60_000)
  await rmdir(`${file}.tmp`)
  await wall.advance(60_000)
  expect(await stat(file)).toMatchObject({ mode: 0o100600 })
  await using resumed = await open(file, { endpoints })
  expect(await seen(resumed)).toEqual(before)
  expect(resumed.emulator.deliveries.counts()).toMatchObject({ pending, attempts })
  await resumed.control('POST', '/clock/advance', { ms: 30_000 })
  expect(resumed.emulator.deliveries.counts().attempts).toBe(attempts + pending)
  expect(resumed.emulator.deliveries.list({}, 1)).toMatchObject([{ attempts: 2, state: 'pending' }])
  const { address, network } = (await resumed.control('GET', '/world')).json.data.newestTokens[0]
  const alert = { type: 'price_above', address, network, threshold: 1e9, webhook_url: receiver.url }
  expect((await resumed.rest('/alerts', postJson(alert))).status).toBe(201)
  await resumed.emulator.stop()
  // The webhook follows the endpoint, and alerts follow the webhook.
  await using moved = await open(file, { endpoints: [{ ...endpoints[0]!, url: closedPort }] })
  expect(moved.emulator.accounts.webhooks()).toMatchObject([{ url: closedPort }])
  expect(moved.emulator.accounts.alerts()).toMatchObject([{ webhookUrl: closedPort }])
})

test('events that arise while the file is written are pending in it', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.data')
  const endpoints = [{ url: closedPort, secret: 'whsec_0123456789abcdef' }]
  const seed = testSeed({ clock: { mode: 'real' } })
  // Its timers never fire, so nothing happens between start and stop.
  const clock = { ...createTestClock(), after: () => ({ cancel() {} }) }
  let now = clock.now()
  const first = await open(file, { seed, endpoints, clock: { ...clock, now: () => now } })
  now += 3_600_000
  let arisen = 0
  first.emulator.world.onEvent(() => void arisen++)
  await first.emulator.stop()
  expect(arisen).toBeGreaterThan(0)
  await using second = await open(file, { seed, clock: { ...clock, now: () => now } })
  expect(second.emulator.deliveries.list({}, 1_000)).toHaveLength(arisen)
})

test('an error of the last write has its code, also after the disposal', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.data')
  const run = async () => {
    await using emulator = createEmulator({ seed: testSeed(), dataFile: file })
    await emulator.start()
    await mkdir(`${file}.tmp`)
    await emulator.stop()
  }
  await expect(run()).rejects.toMatchObject({ code: 'config_invalid' })
})

test('rejects a file of another world, version or program, and leaves it unchanged', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.data')
  await (await open(file)).emulator.stop()
  const rejection = async (of: string, options: Partial<EmulatorOptions> = {}) => {
    const before = await readFile(of)
    const error: unknown = await open(of, options).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'config_invalid' })
    expect(await readFile(of)).toEqual(before)
    return (error as Error).message
  }
  const other = testSeed({ world: { seed: 'other', history: '0s', activity: 2 } })
  expect(await rejection(file, { seed: other })).toMatch(
    /belongs to another world: seed is "test" in the file, "other" in the settings; activity is 1 in the file, 2 in the settings\./,
  )
  expect(await rejection(file, { seed: testSeed({ stories: ['scam'] }) })).toMatch(
    /digest of accounts, tracked wallets, thresholds, networks and stories is "/,
  )
  for (const bytes of ['short notes', '0', 'SQLite format 3\0', serialize({ format: 'onchain-inbox emulator 5' })]) {
    const foreign = join(dir.path, 'foreign')
    await writeFile(foreign, bytes)
    expect(await rejection(foreign)).toMatch(/is no data file of this version.*delete it to start anew/)
  }
  await expect(open(dir.path)).rejects.toThrow(/is not a regular file/)
  await expect(open(join(dir.path, 'missing', 'desk', 'file'))).rejects.toThrow(/cannot use the data file .*ENOENT/)
})

test('in mode real the world catches up with the clock without sending those events', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'emulator.data')
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
