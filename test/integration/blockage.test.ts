import { expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { shortTiming, stageRunner, type RunnerStage } from './runner-stage.ts'

const blockages = (stage: RunnerStage) => stage.lines.filter(({ msg }) => msg.startsWith('handler block'))
const loggedBlockages = (stage: RunnerStage, count: number) =>
  until(() => blockages(stage).length >= count, `${count} lines about a blockage`)

it('logs the blocking handler during the blockage, and the duration afterwards', async () => {
  await using stage = await stageRunner(['blocking', 'steady'])
  // Starts the thread for queries, so that the next one is answered during the blockage.
  await stage.inbox.stats()
  await stage.accept({ id: 'evt_1', data: { blockMs: 800 } })
  await loggedBlockages(stage, 1)
  expect(await stage.run('evt_1', 'blocking')).toMatchObject({ state: 'running' })
  await loggedBlockages(stage, 2)
  expect(blockages(stage)).toEqual([
    { msg: 'handler blocks its thread', handler: 'blocking', silentMs: 500 },
    { msg: 'handler blocked its thread', handler: 'blocking', blockedMs: expect.any(Number) },
  ])
  const { blockedMs } = blockages(stage)[1] as unknown as { blockedMs: number }
  expect(blockedMs).toBeGreaterThanOrEqual(800)
  await stage.drained()
  expect(stage.replaced).toEqual([])

  // A second blockage is logged, too.
  await stage.accept({ id: 'evt_2', data: { blockMs: 800 } })
  await loggedBlockages(stage, 4)
})

it('names all handlers with runs in flight if the blockage follows an await', async () => {
  await using stage = await stageRunner(['blocking', 'patient', 'poison'])
  await stage.accept({ id: 'evt_1', data: { waitMs: 200, blockMs: 800 } })
  await loggedBlockages(stage, 2)
  expect(blockages(stage)).toEqual([
    { msg: 'handler blocks its thread', oneOf: ['blocking', 'patient'], silentMs: 500 },
    { msg: 'handler blocked its thread', oneOf: ['blocking', 'patient'], blockedMs: expect.any(Number) },
  ])
})

it('logs nothing for slow handlers that never block', async () => {
  await using stage = await stageRunner(['blocking', 'steady'], { timing: { ...shortTiming, blockedWarnMs: 1_000 } })
  await stage.accept({ id: 'evt_0', data: { waitMs: 1_500 } })
  await stage.accept(...Array.from({ length: 200 }, (_, n) => ({ id: `evt_${n + 1}`, data: { blockMs: 15 } })))
  await stage.drained()
  expect(stage.lines).toEqual([])
})
