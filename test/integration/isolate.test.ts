import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { maxCrashes } from '../../src/inbox/port.ts'
import { until } from '../support/until.ts'
import { fixture, stageRunner, type RunnerStage } from './runner-stage.ts'

/** Adds `isolate: true` to the source of a handler. */
const isolated = (source: string) => source.replace("type: '*',", "type: '*',\n  isolate: true,")

const runners = (stage: RunnerStage) => stage.threads().filter((name) => name.startsWith('runner'))
const handlerNames = (stage: RunnerStage) => stage.runner.handlers.map(({ name }) => name).toSorted()

it('a crash of an isolated handler affects no other run', async () => {
  await using stage = await stageRunner(['steady'], { files: { 'poison.mjs': isolated(await fixture('poison')) } })
  expect(runners(stage)).toEqual(['runner', 'runner poison'])
  await stage.accept({ id: 'in flight', data: { workMs: 300 } })
  await until(async () => (await stage.run('in flight', 'steady')).state === 'running', 'a run in flight')
  await stage.accept({ id: 'guilty', data: { deed: 'exit' } })
  const others: string[] = ['in flight']
  await until(async () => {
    const id = `other_${others.length}`
    await stage.accept({ id })
    others.push(id)
    await until(async () => (await stage.run(id, 'steady')).state === 'done', 'another run')
    return (await stage.run('guilty', 'poison')).state === 'dead'
  }, 'the verdict')
  expect(await stage.run('guilty', 'poison')).toMatchObject({ crashed: maxCrashes })
  for (const id of others) {
    expect(await stage.run(id, 'steady'), id).toMatchObject({ state: 'done', attempt: 1, crashed: 0 })
  }
  expect(stage.replaced).toHaveLength(maxCrashes)
  await stage.drained()
  await until(() => runners(stage).length === 2, 'the end of the thread for suspects')
  expect(runners(stage)).toEqual(['runner', 'runner poison'])
})

const telling = (name: string, options = '') => `
  import { defineHandler } from 'onchain-inbox'
  import { appendFileSync } from 'node:fs'
  import { join } from 'node:path'
  globalThis.loaded = [...(globalThis.loaded ?? []), '${name}']
  export default defineHandler({
    type: '*', ${options}
    run(event, ctx) {
      appendFileSync(join(import.meta.dirname, 'calls'), '${name} with ' + globalThis.loaded.join(' ') + '\\n')
      ctx.enqueue('out', '${name}')
      ctx.enqueue('apart', '${name}')
    },
  })`
const sink = (name: string, options = '') => `
  import { defineSink } from 'onchain-inbox'
  import { appendFileSync } from 'node:fs'
  import { join } from 'node:path'
  export default defineSink({
    name: '${name}', ${options}
    send([item]) { appendFileSync(join(import.meta.dirname, 'calls'), '${name} got ' + item.payload + '\\n') },
  })`

it('loads an isolated file alone, and delivers enqueued items across threads', async () => {
  await using stage = await stageRunner([], {
    files: {
      'a.mjs': telling('a'),
      'b.mjs': telling('b'),
      'c.mjs': telling('c', 'isolate: true,'),
      'd.mjs': sink('out'),
      'e.mjs': sink('apart', 'isolate: true,'),
    },
  })
  expect(runners(stage)).toEqual(['runner', 'runner c', 'runner e'])
  expect(handlerNames(stage)).toEqual(['a', 'apart', 'b', 'c', 'out'])
  expect(stage.runner.handlers.filter(({ isolate }) => isolate).map(({ name }) => name)).toEqual(['c', 'apart'])
  await stage.accept({ id: 'evt_1' })
  await stage.drained()
  expect(stage.linesOf('calls').toSorted()).toEqual([
    'a with a b',
    ...['a', 'b', 'c'].map((name) => `apart got ${name}`),
    'b with a b',
    'c with c',
    ...['a', 'b', 'c'].map((name) => `out got ${name}`),
  ])
})

it('with `watch`, a handler moves into a separate thread and back', async () => {
  await using stage = await stageRunner(['steady'], { watch: true, files: { 'a.mjs': telling('a') } })
  const edit = async (source: string, count: number) => {
    await writeFile(join(stage.handlersDir, 'a.mjs'), source)
    const isReloaded = () => stage.lines.filter(({ msg }) => msg === 'handlers reloaded').length >= count
    await until(isReloaded, 'the reload')
  }
  expect(runners(stage)).toEqual(['runner'])
  await edit(telling('a', 'isolate: true,'), 1)
  await until(() => runners(stage).join() === 'runner,runner a', 'two threads')
  await edit(telling('a', "isolate: true, name: 'anew',"), 2)
  await until(() => runners(stage).join() === 'runner,runner a', 'two threads')
  expect(handlerNames(stage)).toEqual(['anew', 'steady'])
  await edit(telling('a'), 3)
  await until(() => runners(stage).join() === 'runner', 'one thread')
  await stage.accept({ id: 'evt_1' })
  await until(async () => (await stage.run('evt_1', 'steady')).state === 'done', 'the run')
})
