import { describe, expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { has } from '../support/tools.ts'
import { WallClock } from './clock.ts'
import { createStage, seed } from './stage.ts'

const hour = 3_600_000

/** Handlers that retry and snooze some runs. */
const handlers = {
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
  'snoozing.mjs': `
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

describe.skipIf(!has('cc'))('a wall clock that jumps (needs cc)', () => {
  test(`hours forward and back, ${counts.clockJumps} times under load, delays no acknowledgement, retry or snooze, and loses and reorders nothing (SEED=${seed})`, async () => {
    const random = createRandomStream(seed, 'jumps')
    await using stage = await createStage({ handlers })
    const { sidecar, load } = stage
    const clock = await WallClock.create(sidecar.dir)
    await sidecar.start(clock.env)
    for (let round = 0; round < counts.clockJumps; round += 1) {
      const acknowledged = load.acknowledgements(60)
      const sending = load.run()
      await acknowledged
      const isForward = round % 2 === 0
      // A heartbeat may miss a jump back. So jumps forward are longer: each one exceeds the latest heartbeat.
      clock.set(clock.offsetMs + (isForward ? random.integer(7 * hour, 12 * hour) : -random.integer(hour, 6 * hour)))
      await load.acknowledgements(60)
      // A heartbeat sees it, like a suspended process.
      if (isForward) await sidecar.log('process stood still', 20_000)
      if (round % 3 === 2) {
        await sidecar.kill()
        await sending
        await sidecar.start(clock.env)
      } else {
        load.stop()
        await sending
        // Retries and snoozes from before the jump fall due within seconds.
        await sidecar.drained(30_000)
      }
    }
    const { findings } = await stage.examine()
    expect(findings).toEqual([])
  }, 1_800_000)
})
