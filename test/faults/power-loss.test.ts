import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { checkHistory } from '../support/checks.ts'
import { RecordingClient } from '../support/history.ts'
import { effectsHandler, readEffects, readLedger } from '../support/ledger.ts'
import { Load } from '../support/load.ts'
import { Sidecar } from '../support/sidecar.ts'
import { has } from '../support/tools.ts'
import { historyOf, lossesOf } from './power-loss-check.ts'
import { PowerLossImage } from './power-loss-image.ts'

const service = [process.execPath, fileURLToPath(new URL('power-loss-service.ts', import.meta.url))]
const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')

/** Runs the service under load and cuts the power, again and again; each start finds what the last cut left. */
async function cutPower(sidecar: Sidecar, load: Load, env: Readonly<Record<string, string>>): Promise<void> {
  const random = createRandomStream(seed, 'acknowledgements')
  const image = await PowerLossImage.create(sidecar)
  for (let round = 0; round < counts.powerCuts; round += 1) {
    await sidecar.start({ ...env, ...image.env })
    const acknowledged = load.acknowledgements(random.integer(100, 1_500))
    const sending = load.run()
    await acknowledged
    await sidecar.kill()
    await sending
    await image.cut()
  }
}

function aLoad(sidecar: Sidecar) {
  const client = new RecordingClient({ url: () => sidecar.url })
  const random = createRandomStream(seed, 'load')
  const load = new Load({ client, workers: 16, keys: 200, random: () => random.uniform() })
  return { client, load, [Symbol.dispose]: () => client[Symbol.dispose]() }
}

describe.skipIf(!has('cc'))(`${counts.powerCuts} power cuts under load (needs cc; SEED=${seed})`, () => {
  test('lose nothing that was acknowledged, nor its bytes, nor the order per key', async () => {
    await using sidecar = await Sidecar.create({ handlers: { 'effects.mjs': effectsHandler({ busyMs: 4 }) } })
    using sender = aLoad(sidecar)
    await cutPower(sidecar, sender.load, {})

    await sidecar.start()
    expect(await sidecar.log('database opened')).toMatchObject({ synchronous: 2, cleanStop: false })
    await sender.load.heal()
    await sidecar.drained()
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    const { stored, missingSeqs } = await readLedger(sidecar.databaseFile)
    const evidence = { ...historyOf(sidecar, sender.client), stored, effects: await readEffects(sidecar.effectsFile) }
    expect(checkHistory(evidence)).toEqual([])
    expect(missingSeqs).toBe(0)
  })

  test('are survived before anything is sent again: every acknowledged event is there, byte for byte', async () => {
    await using sidecar = await Sidecar.create({ command: service })
    using sender = aLoad(sidecar)
    await cutPower(sidecar, sender.load, { SYNCHRONOUS: 'full' })
    expect(await lossesOf(sidecar, sender.client)).toEqual([])
  })

  test('lose acknowledged events where the store runs with NORMAL: this check can fail', async () => {
    await using sidecar = await Sidecar.create({ command: service })
    using sender = aLoad(sidecar)
    await cutPower(sidecar, sender.load, { SYNCHRONOUS: 'normal' })
    expect(sidecar.output.lines[0]).toMatchObject({ msg: 'listening', synchronous: 1 })
    expect(await lossesOf(sidecar, sender.client)).toContainEqual(
      expect.stringMatching(/^P1: .* was acknowledged and is not stored$/),
    )
  })
})
