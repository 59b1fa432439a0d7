import { expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { shortTiming, stageRunner, type RunnerStage } from './runner-stage.ts'

const told = (stage: RunnerStage) => stage.lines.filter(({ msg }) => msg.startsWith('handler block'))
const wasTold = (stage: RunnerStage, count: number) =>
  until(() => told(stage).length >= count, `${count} lines about a blockage`)

it('names the handler that blocks its thread while it does, and says how long it did once it is over', async () => {
  await using stage = await stageRunner(['blocking', 'steady'])
  await stage.accept({ id: 'evt_1', data: { blockMs: 1_500 } })
  await wasTold(stage, 1)
  expect(await stage.run('evt_1', 'blocking')).toMatchObject({ state: 'running' })
  await wasTold(stage, 2)
  expect(told(stage)).toEqual([
    { msg: 'handler blocks its thread', handler: 'blocking', silentMs: 500 },
    { msg: 'handler blocked its thread', handler: 'blocking', blockedMs: expect.any(Number) },
  ])
  const { blockedMs } = told(stage)[1] as unknown as { blockedMs: number }
  expect(blockedMs).toBeGreaterThanOrEqual(1_500)
  await stage.drained()
  expect(stage.replaced).toEqual([])

  // Each blockage is told by itself.
  await stage.accept({ id: 'evt_2', data: { blockMs: 1_500 } })
  await wasTold(stage, 4)
})

it('names all that had runs in flight where the blockage came after an await', async () => {
  await using stage = await stageRunner(['blocking', 'patient', 'poison'])
  await stage.accept({ id: 'evt_1', data: { waitMs: 200, blockMs: 1_500 } })
  await wasTold(stage, 2)
  expect(told(stage)).toEqual([
    { msg: 'handler blocks its thread', oneOf: ['blocking', 'patient'], silentMs: 500 },
    { msg: 'handler blocked its thread', oneOf: ['blocking', 'patient'], blockedMs: expect.any(Number) },
  ])
})

it('names nobody where handlers take their time without blocking', async () => {
  await using stage = await stageRunner(['blocking', 'steady'], { timing: { ...shortTiming, blockedWarnMs: 1_000 } })
  await stage.accept({ id: 'evt_0', data: { waitMs: 2_500 } })
  await stage.accept(...Array.from({ length: 200 }, (_, n) => ({ id: `evt_${n + 1}`, data: { blockMs: 15 } })))
  await stage.drained()
  expect(stage.lines).toEqual([])
})
