import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { stageRunner, type RunnerStage } from './runner-stage.ts'

/** A handler that appends a line when a run starts and ends. A patient run waits for the file `go` in between. */
const tracing = (version: string) => `
  import { appendFileSync, existsSync } from 'node:fs'
  import { join } from 'node:path'
  import { setTimeout as wait } from 'node:timers/promises'
  const leave = (line) => appendFileSync(join(import.meta.dirname, 'trace'), line + '\\n')
  export default {
    type: '*',
    async run(event) {
      leave('start ' + event.id + ' ${version}')
      const { isPatient, workMs = 0 } = event.data
      await wait(workMs)
      while (isPatient && !existsSync(join(import.meta.dirname, 'go'))) await wait(5)
      leave('end ' + event.id + ' ${version}')
    },
  }`

const stageTracing = () => stageRunner([], { watch: true, files: { 'tracing.mjs': tracing('v1') } })

const traceOf = (stage: RunnerStage) => stage.linesOf('trace')
const edit = (stage: RunnerStage, file: string, source: string) => writeFile(join(stage.handlersDir, file), source)
const linesOf = (stage: RunnerStage, msg: string) => stage.lines.filter((line) => line.msg === msg)
const reloads = (stage: RunnerStage) => linesOf(stage, 'handlers reloaded')
const failures = (stage: RunnerStage) => linesOf(stage, 'reload failed, old handlers continue')
const reloaded = (stage: RunnerStage, count = 1) =>
  until(() => reloads(stage).length >= count, `${count} reloads; ${JSON.stringify(stage.lines)}`)
const failed = (stage: RunnerStage, count = 1) =>
  until(() => failures(stage).length >= count, `${count} failed reloads; ${JSON.stringify(stage.lines)}`)

/** The end of a new event, with the version of the code that handled it. */
async function versionNow(stage: RunnerStage, id: string): Promise<string> {
  await stage.accept({ id })
  await until(() => traceOf(stage).some((line) => line.startsWith(`end ${id} `)), `the end of ${id}`)
  return traceOf(stage).findLast((line) => line.startsWith(`end ${id} `)) ?? ''
}

it('P4: an edit under load handles each event once, and in order per key', async () => {
  await using stage = await stageTracing()
  const keys = ['a', 'b', 'c', 'd']
  const sent: string[] = []
  const send = async () => {
    const round = sent.length / keys.length
    const events = keys.map((key) => ({ id: `${key}_${round}`, key, data: { workMs: 5 + (round % 7) * 4 } }))
    await stage.accept(...events)
    sent.push(...events.map(({ id }) => id))
  }
  for (let version = 2; version <= 4; version++) {
    for (let round = 0; round < 20; round++) await send()
    await edit(stage, 'tracing.mjs', tracing(`v${version}`))
    await until(async () => {
      await send()
      return reloads(stage).length >= version - 1
    }, 'the reload')
  }
  for (let round = 0; round < 20; round++) await send()
  await stage.drained()

  const trace = traceOf(stage).map((line) => line.split(' '))
  for (const key of keys) {
    const ofKey = trace.filter(([, id = '']) => id.startsWith(key)).map(([what, id]) => `${what} ${id}`)
    const expected = sent.filter((id) => id.startsWith(key)).flatMap((id) => [`start ${id}`, `end ${id}`])
    expect(ofKey).toEqual(expected)
  }
  expect(new Set(trace.map(([, , version]) => version))).toEqual(new Set(['v1', 'v2', 'v3', 'v4']))
  for (const id of sent) expect(await stage.run(id, 'tracing')).toMatchObject({ state: 'done', attempt: 1, crashed: 0 })
  expect(stage.replaced).toEqual([])
  await until(() => stage.threads().length === 2, 'the end of the old threads')
})

it('a run in flight finishes on the old code, and later runs use the new code', async () => {
  await using stage = await stageTracing()
  await stage.accept({ id: 'old', key: 'k', data: { isPatient: true } }, { id: 'next', key: 'k' })
  await until(() => traceOf(stage).length === 1, 'the start')
  await edit(stage, 'tracing.mjs', tracing('v2'))
  await reloaded(stage)
  expect(reloads(stage)).toEqual([{ msg: 'handlers reloaded', handlers: ['tracing'], changed: ['tracing.mjs'] }])
  expect(await versionNow(stage, 'other')).toBe('end other v2')
  expect(stage.threads()).toEqual(['runner', 'runner', 'writer'])
  await edit(stage, 'go', '')
  await stage.drained()
  expect(traceOf(stage).filter((line) => !line.includes('other'))).toEqual([
    'start old v1',
    'end old v1',
    'start next v2',
    'end next v2',
  ])
  for (const id of ['old', 'next']) {
    expect(await stage.run(id, 'tracing')).toMatchObject({ state: 'done', attempt: 1, crashed: 0 })
  }
  await until(() => stage.threads().length === 2, 'the end of the old thread')
})

it('a broken edit keeps the old handlers, and the next good edit is loaded', async () => {
  await using stage = await stageTracing()
  const broken = [
    ['tracing.mjs', 'export default {', 'tracing.mjs cannot be loaded'],
    ['other.ts', `export default { name: 'tracing', type: 'none', run() {} }`, 'two handlers have the name tracing'],
    ['other.ts', 'process.exit(5)', 'ended while loading: the thread ended with exit code 5'],
  ] as const
  for (const [index, [file, source, reason]] of broken.entries()) {
    await edit(stage, file, source)
    await failed(stage, index + 1)
    expect(failures(stage).at(-1)).toMatchObject({ changed: [file], error: expect.stringContaining(reason) })
    expect(await versionNow(stage, `during_${index}`)).toBe(`end during_${index} v1`)
    expect(stage.runner.handlers.map(({ name }) => name)).toEqual(['tracing'])
    if (file === 'tracing.mjs') await edit(stage, file, tracing('v1'))
    else await rm(join(stage.handlersDir, file))
    await reloaded(stage, index + 1)
  }
  await edit(stage, 'tracing.mjs', tracing('v2'))
  await reloaded(stage, broken.length + 1)
  expect(await versionNow(stage, 'after')).toBe('end after v2')
  await until(() => stage.threads().length === 2, 'the end of the old threads')
  expect(stage.replaced).toEqual([])
})

it('watches imports of handlers, in subfolders and links, also missing ones', async () => {
  const deep = (version: string) =>
    tracing(version).replaceAll('import.meta.dirname', `join(import.meta.dirname, '../..')`)
  const using = (file: string) => `export { default } from './${file}'`
  await using stage = await stageRunner([], {
    watch: true,
    files: {
      'tracing.mjs': using('_helper.ts'),
      '_helper.ts': using('lib/deep/er.ts'),
      'lib/deep/er.ts': deep('v1'),
      '_unused.ts': '',
    },
  })
  expect(await versionNow(stage, 'evt_1')).toBe('end evt_1 v1')
  await edit(stage, '_unused.ts', 'throw 1')
  await edit(stage, 'lib/deep/er.ts', deep('v2'))
  await reloaded(stage)
  expect(reloads(stage).at(-1)).toMatchObject({ changed: ['lib/deep/er.ts'] })
  expect(await versionNow(stage, 'evt_2')).toBe('end evt_2 v2')

  // Editors replace files.
  await edit(stage, 'lib/deep/new', deep('v3'))
  await rename(join(stage.handlersDir, 'lib/deep/new'), join(stage.handlersDir, 'lib/deep/er.ts'))
  await reloaded(stage, 2)
  expect(await versionNow(stage, 'evt_3')).toBe('end evt_3 v3')

  await edit(stage, '_helper.ts', using('lib/later.ts'))
  await failed(stage)
  await edit(stage, 'lib/later.ts', tracing('v4').replaceAll('import.meta.dirname', `join(import.meta.dirname, '..')`))
  await reloaded(stage, 3)
  expect(await versionNow(stage, 'evt_4')).toBe('end evt_4 v4')

  // Kubernetes mounts a ConfigMap as links through a folder that is itself a link.
  const at = (path: string) => join(stage.handlersDir, path)
  for (const version of ['v5', 'v6']) {
    await mkdir(at(`..${version}`))
    await edit(stage, `..${version}/linked.ts`, tracing(version).replace("'trace'", "'../trace'"))
  }
  await symlink('..v5', at('..data'))
  await symlink('..data/linked.ts', at('linked.ts'))
  await rm(at('tracing.mjs'))
  await reloaded(stage, 4)
  expect(await versionNow(stage, 'evt_5')).toBe('end evt_5 v5')
  await symlink('..v6', at('..new'))
  await rename(at('..new'), at('..data'))
  await rm(at('..v5'), { recursive: true })
  await reloaded(stage, 5)
  expect(await versionNow(stage, 'evt_6')).toBe('end evt_6 v6')
})

it('loads new and renamed files, and drops removed ones', async () => {
  await using stage = await stageTracing()
  const names = () => stage.runner.handlers.map(({ name }) => name)
  await edit(stage, 'new.ts', tracing('new'))
  await reloaded(stage)
  expect(names()).toEqual(['new', 'tracing'])
  await rename(join(stage.handlersDir, 'new.ts'), join(stage.handlersDir, 'renamed.ts'))
  await reloaded(stage, 2)
  expect(names()).toEqual(['renamed', 'tracing'])
  await rm(join(stage.handlersDir, 'tracing.mjs'))
  await reloaded(stage, 3)
  expect(names()).toEqual(['renamed'])
  await stage.accept({ id: 'evt_1' })
  await stage.drained()
  expect((await stage.inbox.event('evt_1'))?.runs.map(({ handler }) => handler)).toEqual(['renamed'])
  expect(traceOf(stage)).toEqual(['start evt_1 new', 'end evt_1 new'])
})

it('the new code retries a run of an old thread that was lost', async () => {
  const blocking = tracing('v1').replace("leave('end", `if (isPatient) for (;;);\n leave('end`)
  // A blocked thread is not waited for, though another handler may take long.
  const other = `export default { type: 'none', timeoutMs: 600_000, run() {} }`
  const quick = blocking.replace("type: '*',", "type: '*', timeoutMs: 500,")
  await using stage = await stageRunner([], { watch: true, files: { 'tracing.mjs': quick, 'other.ts': other } })
  await edit(stage, 'go', '')
  await stage.accept({ id: 'spin', data: { isPatient: true, workMs: 100 } })
  await until(() => traceOf(stage).some((line) => line.startsWith('start spin ')), 'the start')
  await edit(stage, 'tracing.mjs', tracing('v2'))
  await reloaded(stage)
  await stage.drained()
  expect(traceOf(stage).at(-1)).toBe('end spin v2')
  const { attempts } = await stage.run('spin', 'tracing')
  expect(attempts.map(({ outcome }) => outcome)).toEqual(['crashed', 'done'])
  expect(stage.replaced).toEqual([expect.stringContaining('blocked the thread for')])
})

it('P6: many edits cause few reloads and at most two old threads', async () => {
  await using stage = await stageTracing()
  for (let round = 1; round <= 4; round++) {
    await stage.accept({ id: `patient_${round}`, data: { isPatient: true } })
    await until(() => traceOf(stage).some((line) => line.includes(`patient_${round} `)), 'the start')
    for (let n = 0; n < 40; n++) await edit(stage, 'tracing.mjs', tracing(`v${round}.${n}`))
    await until(
      async () => (await versionNow(stage, `evt_${stage.lines.length}_${Date.now()}`)).endsWith('.39'),
      'the last',
    )
  }
  expect(reloads(stage).length).toBeLessThanOrEqual(12)
  const runners = () => stage.threads().filter((name) => name === 'runner').length
  await until(() => runners() <= 3, 'the end of the oldest')
  await edit(stage, 'go', '')
  await stage.drained()
  await until(() => runners() === 1, 'the end of the old threads')
  for (let round = 1; round <= 4; round++) {
    expect(await stage.run(`patient_${round}`, 'tracing')).toMatchObject({ state: 'done', crashed: 0 })
  }
})

it('stops during a reload and while old threads finish', async () => {
  await using stage = await stageTracing()
  await stage.accept({ id: 'patient', data: { isPatient: true } })
  await until(() => traceOf(stage).length === 1, 'the start')
  await edit(stage, 'tracing.mjs', tracing('v2'))
  await reloaded(stage)
  const started = stage.started()
  await edit(stage, 'tracing.mjs', `await new Promise((resolve) => setTimeout(resolve, 60_000))\n${tracing('v3')}`)
  await until(() => stage.started() > started, 'the start of a thread')
  await stage.runner.stop(50)
  expect(stage.threads()).toEqual(['writer'])
  expect(await stage.run('patient', 'tracing')).toMatchObject({ state: 'ready', attempt: 0, crashed: 0 })
  expect(failures(stage)).toEqual([])
})
