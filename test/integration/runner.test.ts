import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import { maxCrashes } from '../../src/inbox/port.ts'
import { until } from '../support/until.ts'
import { shortTiming, stageRunner, type RunnerStage } from './runner-stage.ts'

const events = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `evt_${index + 1}` }))

/** `line`: event and attempt, as the patient handler writes them. */
const waitForStart = (stage: RunnerStage, line: string) =>
  until(() => stage.linesOf('started').includes(line), `the start of ${line}`)

it('runs handlers in a separate thread, and reports them and their results', async () => {
  await using stage = await stageRunner(['steady', 'poison'])
  expect(stage.runner.handlers.map(({ name, file }) => [name, file])).toEqual(
    ['poison', 'steady'].map((name) => [name, join(stage.handlersDir, `${name}.mjs`)]),
  )
  await stage.accept(...events(100))
  await stage.drained()
  await until(() => stage.settled.size === 2, 'the report')
  await stage.runner.stop(1_000)
  expect(Object.fromEntries(stage.settled)).toEqual({ 'poison done': 100, 'steady done': 100 })
  expect(stage.replaced).toEqual([])
})

it('releases runs in flight uncharged at a stop, and ends its thread', async () => {
  await using stage = await stageRunner(['patient'])
  await stage.accept({ id: 'evt_1' }, { id: 'evt_2', type: 'test.deaf' }, ...events(40).slice(2))
  await waitForStart(stage, 'evt_1 1')
  await waitForStart(stage, 'evt_2 1')
  await stage.runner.stop(100)
  expect(stage.threads()).toEqual(['writer'])
  for (const { id } of events(40)) {
    expect(await stage.run(id, 'patient')).toMatchObject({ state: 'ready', attempt: 0, crashed: 0, attempts: [] })
  }
  expect(stage.replaced).toEqual([])
})

it('releases the runs of an ended thread once the store accepts, and logs the dead letter', async () => {
  await using stage = await stageRunner(['poison'])
  const { inbox } = stage
  const reap = inbox.reap.bind(inbox)
  let refusals = 3
  inbox.reap = (owner) =>
    refusals-- > 0 ? Promise.reject(new InboxError('store_full', 'the disk is full')) : reap(owner)
  await stage.accept({ id: 'evt_1', data: { deed: 'exit' } })
  await stage.drained()
  expect(refusals).toBeLessThan(0)
  expect(await stage.run('evt_1', 'poison')).toMatchObject({ state: 'dead', attempt: maxCrashes })
  const said = (message: string) => stage.lines.filter(({ msg }) => msg === message)
  await until(() => said('run became a dead letter').length > 0, 'the line')
  expect(said('run became a dead letter')).toMatchObject([
    { handler: 'poison', eventId: 'evt_1', attempt: maxCrashes, error: expect.stringMatching(/^handler_crashed: /) },
  ])
  const replaced = said('handler thread replaced')
  expect(replaced).toHaveLength(maxCrashes)
  for (const line of replaced)
    expect(line).toMatchObject({ reason: 'the thread ended with exit code 3', handler: 'poison' })
  const tried = said('handler thread left suspects')
  expect(tried.map(({ runs }) => runs)).toEqual([1, 1])
})

it('P4: starts no run of the key before a handler that ignores its timeout has ended', async () => {
  await using stage = await stageRunner(['lingering'])
  await stage.accept({ id: 'evt_1', key: 'k', data: { lingers: true } }, { id: 'evt_2', key: 'k' })
  await stage.drained()
  const lines = stage.linesOf('started')
  expect(lines.filter((line, index) => line !== lines[index - 1])).toEqual(['evt_1 1', 'evt_1 2', 'evt_2 1'])
  expect(stage.replaced).toEqual(['handler lingering ran on long after its timeout'])
  await until(() => stage.settled.has('lingering retry'), 'the report of the timeout')
  const { state, attempts } = await stage.run('evt_1', 'lingering')
  expect([state, attempts.map(({ outcome, error }) => error?.name ?? outcome)]).toEqual([
    'done',
    ['handler_timeout', 'done'],
  ])
})

describe('a handler stuck in a native call', () => {
  /** Opens `pipe` on disposal, which ends the native calls. */
  function makePipe(stage: RunnerStage): Disposable {
    const file = join(stage.handlersDir, 'pipe')
    execFileSync('mkfifo', [file])
    return { [Symbol.dispose]: () => closeSync(openSync(file, 'r+')) }
  }
  const stuckIn = { pipe: 'pipe' }
  const quick = { timing: { ...shortTiming, blockedGraceMs: 500 } }

  it('keeps its run and key until its thread has ended; other runs move to a new thread at once', async () => {
    await using stage = await stageRunner(['native'], quick)
    {
      using _pipe = makePipe(stage)
      const rest = events(9).slice(2)
      await stage.accept({ id: 'evt_1', key: 'k', data: stuckIn }, { id: 'evt_2', key: 'k' }, ...rest)
      const others = () => Promise.all(rest.map(({ id }) => stage.run(id, 'native')))
      await until(async () => (await others()).every(({ state }) => state === 'done'), 'the other runs')
      expect(await stage.run('evt_1', 'native')).toMatchObject({ state: 'running', attempt: 1 })
      expect(await stage.run('evt_2', 'native')).toMatchObject({ state: 'waiting' })
      for (const run of await others()) expect(run).toMatchObject({ attempt: 1, crashed: 0 })
      expect(stage.lines).toContainEqual({ msg: expect.stringMatching(/^handler stuck in native/), handler: 'native' })
    }
    await stage.drained()
    expect(await stage.run('evt_1', 'native')).toMatchObject({ state: 'done', attempt: 2 })
    expect((await stage.run('evt_1', 'native')).attempts[0]).toMatchObject({ outcome: 'crashed' })
    expect(stage.failures).toEqual([])
  })

  it('does not delay a stop', async () => {
    await using stage = await stageRunner(['native'])
    using _pipe = makePipe(stage)
    await stage.accept({ id: 'evt_1', data: stuckIn })
    await until(() => stage.runner.inFlight.includes('native'), 'the run')
    await stage.runner.stop(0)
    expect(await stage.run('evt_1', 'native')).toMatchObject({ state: 'running', attempt: 1 })
  })

  it('gets a new thread four times; the fifth is a failure', async () => {
    await using stage = await stageRunner(['native'], quick)
    using _pipe = makePipe(stage)
    for (const [index, event] of events(5).entries()) {
      expect(stage.failures).toEqual([])
      await stage.accept({ ...event, data: stuckIn })
      const stuck = () => stage.lines.filter(({ msg }) => msg.startsWith('handler stuck')).length
      await until(() => stuck() > index, `thread ${index + 1}`)
    }
    expect(stage.failures).toEqual(['5 handler threads are stuck in native calls'])
  })
})

it('ignores messages that handler code posts, and logs the first', async () => {
  await using stage = await stageRunner(['poison'])
  const data = { deed: 'post messages' }
  await stage.accept({ id: 'evt_1', data }, { id: 'evt_2', data }, { id: 'evt_3', data })
  await stage.drained()
  expect(stage.lines).toEqual([{ msg: 'handler message ignored', handler: 'poison' }])
  expect(stage.replaced).toEqual([])
})

it('retries while handlers cannot be loaded, one thread at a time, and continues when they can', async () => {
  await using stage = await stageRunner(['poison', 'steady'])
  const marker = join(stage.handlersDir, 'poisoned-import')
  await writeFile(marker, '')
  await stage.accept({ id: 'evt_1', data: { deed: 'exit' } })
  const started = stage.started()
  await until(() => stage.started() > started + 5, 'five vain starts')
  expect(stage.threads().filter((name) => name === 'runner').length).toBeLessThanOrEqual(1)
  expect(stage.threads().length).toBeLessThanOrEqual(3)
  await stage.accept({ id: 'evt_2' })
  expect(stage.replaced).toHaveLength(1)

  await rm(marker)
  await stage.drained()
  expect(await stage.run('evt_1', 'poison')).toMatchObject({ state: 'dead', crashed: 3 })
  expect(await stage.run('evt_2', 'poison')).toMatchObject({ state: 'done' })
})

it('does not start if a file cannot be loaded, and leaves no thread behind', async () => {
  await using stage = await stageRunner(['steady'])
  await stage.runner.stop(0)
  const broken = join(stage.handlersDir, 'broken.mjs')
  await writeFile(broken, 'process.exit(5)')
  await expect(stage.startAnother(shortTiming)).rejects.toMatchObject({
    code: 'handler_invalid',
    message: `the handler thread ended while loading: the thread ended with exit code 5; last file read: ${broken}`,
  })
  expect(stage.threads()).toEqual(['writer'])
})

it('does not wait for suspects of a removed handler', async () => {
  await using stage = await stageRunner(['steady', 'poison'])
  await stage.inbox.accept([])
  await stage.inbox.register([{ name: 'gone', types: ['*'], order: 'key' }])
  await stage.accept({ id: 'evt_1' })
  await stage.inbox.claim({ handlers: ['gone'], max: 1, owner: 'dead', suspects: false })
  await stage.inbox.reap('dead')
  await stage.inbox.register(stage.runner.handlers)
  await stage.accept({ id: 'evt_2', data: { deed: 'exit' } })
  await until(async () => (await stage.run('evt_2', 'poison')).state === 'dead', 'the verdict')
  // The other run may have been in flight, and so be a suspect, too.
  await until(async () => (await stage.run('evt_2', 'steady')).state === 'done', 'the other run')
  await until(() => stage.threads().includes('runner'), 'the new thread')
  await until(() => !stage.threads().includes('runner-suspects'), 'the end of the thread for suspects')
  const started = stage.started()
  await stage.accept({ id: 'evt_3' })
  await until(async () => (await stage.run('evt_3', 'steady')).state === 'done', 'the run')
  expect(stage.started()).toBe(started)
})

it('starts no thread for suspects of a paused handler until it is resumed', async () => {
  await using stage = await stageRunner(['steady'])
  await stage.runner.stop(0)
  await stage.accept({ id: 'evt_1' })
  await stage.inbox.claim({ handlers: ['steady'], max: 1, owner: 'dead', suspects: false })
  await stage.inbox.reap('dead')
  await stage.inbox.setPaused('steady', true)
  const runner = await stage.startAnother(shortTiming)
  await wait(300)
  expect(stage.threads()).toEqual(['runner', 'writer'])
  await stage.inbox.setPaused('steady', false)
  runner.lookForSuspects()
  await stage.drained()
  await runner.stop(0)
})
