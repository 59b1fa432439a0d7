import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import type { Effect, WorkRecord } from '../support/ledger.ts'
import { cold } from '../support/sidecar.ts'
import { createStage } from './stage.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')

test(`kill -9 under load, ${counts.killRounds} times, loses and reorders nothing (SEED=${seed})`, async () => {
  console.log(`SEED=${seed}`)
  const random = createRandomStream(seed, 'kill')
  await using stage = await createStage({ seed, workers: 32, keys: 300 })
  const { sidecar, load } = stage

  for (let round = 1; round <= counts.killRounds; round++) {
    sidecar.launch()
    // Sometimes it dies during the recovery from the last kill.
    if (random.uniform() < 0.2) {
      await wait(random.integer(0, 600))
      await sidecar.kill()
      continue
    }
    await sidecar.ready()
    const acknowledged = load.acknowledgements(random.integer(1, 1_000))
    const sending = load.run()
    await acknowledged
    await wait(random.integer(0, 10))
    await sidecar.kill()
    await sending
  }

  await sidecar.start(cold)
  const { findings, ledger, effects, requeued } = await stage.examine()
  expect(findings).toEqual([])
  expect(uncounted(effects, ledger.work).filter((id) => !requeued.has(id))).toEqual([])
  // A run that was in flight alone at two kills, after one among others, becomes a dead letter. That must stay rare.
  expect(requeued.size).toBeLessThanOrEqual(counts.killRounds / 5)
})

/** Events with attempts that were not counted, or repeated without a crash. */
function uncounted(effects: readonly Effect[], work: readonly WorkRecord[]): string[] {
  const begun = Map.groupBy(
    effects.filter(({ step }) => step === 'begin'),
    ({ id }) => id,
  )
  return work
    .filter(({ id, attempt, crashed }) => {
      const attempts = (begun.get(id) ?? []).map((effect) => effect.attempt)
      return attempts.some((number) => number > attempt) || attempts.length > 1 + crashed
    })
    .map(({ id }) => id)
}
