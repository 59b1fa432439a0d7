import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { has } from '../support/tools.ts'
import { lossesOf } from './power-loss-check.ts'
import { PowerLossImage } from './power-loss-image.ts'
import { createStage, seed } from './stage.ts'

const service = [process.execPath, fileURLToPath(new URL('power-loss-service.ts', import.meta.url))]

type Stage = Awaited<ReturnType<typeof createStage>>

/** Runs the service under load and cuts the power, several times. Each start finds the data of the last cut. */
async function cutPower({ sidecar, load }: Stage): Promise<void> {
  const random = createRandomStream(seed, 'acknowledgements')
  const image = await PowerLossImage.create(sidecar)
  for (let round = 0; round < counts.powerCuts; round += 1) {
    await sidecar.start(image.env)
    const acknowledged = load.acknowledgements(random.integer(50, counts.eventsPerFault))
    const sending = load.run()
    await acknowledged
    await sidecar.kill()
    await sending
    await image.cut()
  }
}

describe.skipIf(!has('cc'))(`${counts.powerCuts} power cuts under load (needs cc; SEED=${seed})`, () => {
  test('lose no acknowledged event, no bytes and no order', async () => {
    await using stage = await createStage()
    await cutPower(stage)
    await stage.sidecar.start()
    expect(await stage.sidecar.log('database opened')).toMatchObject({ synchronous: 2, cleanStop: false })
    expect((await stage.examine()).findings).toEqual([])
  })

  test('lose acknowledged events with synchronous=NORMAL, so this check can fail', async () => {
    await using stage = await createStage({ command: service })
    await cutPower(stage)
    expect(stage.sidecar.output.lines[0]).toMatchObject({ msg: 'listening', synchronous: 1 })
    expect(await lossesOf(stage.sidecar, stage.client)).toContainEqual(
      expect.stringMatching(/^P1: .* was acknowledged and is not stored$/),
    )
  })
})
