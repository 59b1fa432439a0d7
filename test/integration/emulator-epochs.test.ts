import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createTestReceiver } from './emulator-receiver.ts'
import { startStage, testSeed, type Stage } from './emulator-stage.ts'

const secret = 'whsec_0123456789abcdef'
const startAt = '2026-01-01T00:00:00.000Z'

test.each([
  ['a reset', '/reset', undefined, true],
  ['a restore', '/restore', { name: 'kept' }, true],
  ['a change of the mode', '/clock', { mode: 'manual' }, false],
])('%s ends running and queued advances with 409', async (_what, path, body, isPutBack) => {
  const held = Promise.withResolvers<void>()
  await using receiver = await createTestReceiver(() => held.promise.then(() => ({ status: 200 })))
  await using stage = await startStage({ endpoints: [{ url: receiver.url, secret }] })
  await stage.control('POST', '/snapshot', { name: 'kept' })
  const advanced = stage.control('POST', '/clock/advance', { ms: 24 * 3_600_000 })
  await receiver.received(1)
  const behind = expect(stage.emulator.advance(1000)).rejects.toMatchObject({ code: 'bad_request' })
  const now = isPutBack ? startAt : new Date(stage.emulator.clock.now()).toISOString()
  expect((await stage.control('POST', path, body)).status).toBe(200)
  held.resolve()
  const { status, json } = await advanced
  expect([status, json.error]).toEqual([409, { code: 'conflict', message: expect.stringContaining('advance again') }])
  await behind
  expect((await stage.control('GET', '/clock')).json.data.now).toBe(now)
  expect((await stage.control('GET', '/world')).json.data.now).toBe(now)
})

/** A clock that can leap, as for a process that can't keep up. */
function createLeapingClock() {
  const clock = createTestClock()
  let leapt = 0
  return { ...clock, now: () => clock.now() + leapt, leap: (ms: number) => (leapt += ms) }
}

test('R7 a world that lags stops where it is when its clock stops, and continues from there', async () => {
  const clock = createLeapingClock()
  const seed = testSeed({ clock: { mode: 'scaled', speed: 1_000_000 } })
  await using stage = await startStage({ seed, clock })
  clock.leap(1500)
  expect((await stage.control('GET', '/clock')).json.data.now).toBe(new Date(stage.emulator.clock.now()).toISOString())
  const { now } = (await stage.control('POST', '/clock', { mode: 'manual' })).json.data
  const look = async () => {
    const { json, text } = await stage.rest('/tokens/search?q=a&limit=100')
    const world = (await stage.control('GET', '/world?digest=1')).json.data
    return { data: json.data, dated: json.meta.timestamp, world, text: text.slice(0, text.indexOf('"latency_ms"')) }
  }
  const first = await look()
  expect(await look()).toEqual(first)
  expect([first.dated, first.world.now]).toEqual([now, now])
  expect(Date.parse(now) - clock.now()).toBeLessThan(24 * 3_600_000)
  expect((await stage.control('POST', '/clock/advance', { ms: 60_000 })).json.data.now).toBe(
    new Date(Date.parse(now) + 60_000).toISOString(),
  )
})

test('A58 rejects cursors from before a reset, also after a restart', async () => {
  await using dir = await createTempDir()
  const dataFile = join(dir.path, 'emulator.data')
  const emulatorOf = () => startStage({ dataFile })
  const list = '/tokens/search?q=a&limit=1'
  const cursorOf = async (stage: Stage) => (await stage.rest(list)).json.meta.next_cursor
  const pageAt = async (stage: Stage, cursor: string) => {
    const { status, json } = await stage.rest(`${list}&cursor=${cursor}`)
    return [status, json.error?.message]
  }
  const refused = [400, expect.stringContaining('issued after the latest restore')]

  const first = await emulatorOf()
  const early = await cursorOf(first)
  expect(await pageAt(first, early)).toEqual([200, undefined])
  await first.control('POST', '/reset')
  expect(await pageAt(first, early)).toEqual(refused)
  const late = await cursorOf(first)
  await first.emulator.stop()
  await using second = await emulatorOf()
  expect(await pageAt(second, early)).toEqual(refused)
  expect(await pageAt(second, late)).toEqual([200, undefined])
  await second.control('POST', '/reset')
  expect(await pageAt(second, late)).toEqual(refused)
})
