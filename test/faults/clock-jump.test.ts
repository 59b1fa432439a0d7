import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { RecordingClient, toDelivery } from '../support/history.ts'
import { Sidecar } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'
import { has } from '../support/tools.ts'
import { WallClock } from './clock.ts'
import { createStage } from './stage.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const hour = 3_600_000

/** Fails the first time, and is tried again; is put off once before. */
const again = {
  'flaky.mjs': `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  retry: { baseMs: 200, capMs: 400, attempts: 50 },
  run(event, ctx) {
    if (event.id.endsWith('0') && ctx.attempt === 1) throw new Error('the first time')
  },
})
`,
  'putting-off.mjs': `
import { defineHandler } from 'onchain-inbox'
const seen = new Set()
export default defineHandler({
  type: '*',
  run(event, ctx) {
    if (!event.id.endsWith('5') || seen.has(event.id)) return
    seen.add(event.id)
    return ctx.snooze(300)
  },
})
`,
}

/** Keeps the last event for an hour, and says what it found. */
const keeping = {
  'keeping.mjs': `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  key: 'type',
  async run(event, ctx) {
    ctx.log.info({ id: event.id, before: (await ctx.state.get('last')) ?? null }, 'kept')
    ctx.state.set('last', event.id, { ttlMs: ${hour} })
  },
})
`,
}

interface Gap {
  readonly kind: string
  readonly from: string
  readonly to: string
}

async function gapsOf(sidecar: Sidecar): Promise<Gap[]> {
  const { gaps } = (await (await sidecar.admin('health')).json()) as { gaps: Gap[] }
  return gaps
}

describe.skipIf(!has('cc'))('a wall clock that jumps (needs cc)', () => {
  test(`hours forward and back, ${counts.clockJumps} times under load, stops no acknowledgement, retry or snooze, and loses and reorders nothing (SEED=${seed})`, async () => {
    console.log(`SEED=${seed}`)
    const random = createRandomStream(seed, 'jumps')
    await using stage = await createStage({ seed, handlers: again })
    const { sidecar, load } = stage
    const clock = await WallClock.create(sidecar.dir)
    await sidecar.start(clock.env)
    for (let round = 0; round < counts.clockJumps; round += 1) {
      const acknowledged = load.acknowledgements(200)
      const sending = load.run()
      await acknowledged
      const isForward = round % 2 === 0
      clock.set(clock.offsetMs + (isForward ? 1 : -1) * random.integer(hour, 12 * hour))
      await load.acknowledgements(200)
      if (round % 3 === 2) {
        await sidecar.kill()
        await sending
        await sidecar.start(clock.env)
      } else {
        load.stop()
        await sending
        // Retries and snoozes of the time before are not waited for by the old clock.
        await sidecar.drained(30_000)
      }
    }
    const { findings } = await stage.examine()
    expect(findings).toEqual([])
  }, 1_800_000)

  test('lets values in ctx.state expire by the clock as it is', async () => {
    await using sidecar = await Sidecar.create({ handlers: keeping })
    const clock = await WallClock.create(sidecar.dir)
    await sidecar.start(clock.env)
    using client = new RecordingClient({ url: () => sidecar.url })
    const before = async (id: string) => {
      expect(await client.deliver(toDelivery(eventBytes({ id }), { id }))).toMatchObject({ answer: 200 })
      const line = await sidecar.output.waitFor((kept) => kept.msg === 'kept' && kept['id'] === id, id, 20_000)
      await sidecar.drained()
      return line['before']
    }
    expect(await before('a')).toBe(null)
    expect(await before('b')).toBe('a')
    clock.set(2 * hour)
    expect(await before('c')).toBe(null)
    clock.set(0)
    expect(await before('d')).toBe('c')
  })

  test('forward by hours while it runs is reported at the next heartbeat, as it would be if it had been suspended', async () => {
    await using sidecar = await Sidecar.create()
    const clock = await WallClock.create(sidecar.dir)
    await sidecar.start(clock.env)
    clock.set(12 * hour)
    const told = (text: string) => text === 'process stood still'
    expect(await sidecar.output.waitFor((line) => told(line.msg), 'a warning', 20_000)).toMatchObject({ level: 'warn' })
    expect(await gapsOf(sidecar)).toMatchObject([{ kind: 'stood_still', lost: { from: expect.any(String) } }])
  })

  test('between two starts is a time out of service if it went forward, and none if it went back', async () => {
    await using sidecar = await Sidecar.create()
    const clock = await WallClock.create(sidecar.dir)
    await sidecar.start(clock.env)
    await sidecar.stop()
    clock.set(5 * hour)
    await sidecar.start(clock.env)
    const gaps = await gapsOf(sidecar)
    expect(gaps).toHaveLength(1)
    const [gap] = gaps
    const lengthMs = Date.parse(gap?.to ?? '') - Date.parse(gap?.from ?? '')
    expect(lengthMs).toBeGreaterThan(5 * hour - 60_000)
    expect(lengthMs).toBeLessThan(5 * hour + 600_000)

    await sidecar.kill()
    clock.set(-3 * hour)
    await sidecar.start(clock.env)
    using client = new RecordingClient({ url: () => sidecar.url })
    expect(await client.deliver(toDelivery(eventBytes({ id: 'a' }), { id: 'a' }))).toMatchObject({ answer: 200 })
    expect(await gapsOf(sidecar)).toEqual([gap])
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  })
})
