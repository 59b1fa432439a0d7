import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { systemClock } from '../../src/base/clock.ts'
import type { RunnerTiming } from '../../src/dispatch/runner-protocol.ts'
import { startRunner } from '../../src/dispatch/runner.ts'
import type { NewEvent } from '../../src/inbox/port.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'
import { anEvent } from '../conformance/stage.ts'
import { eventBytes } from '../support/signed.ts'
import type { LogLine } from '../support/process-output.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

/** Short, but longer than load delays a healthy thread. */
export const shortTiming: Partial<RunnerTiming> = {
  overrunGraceMs: 300,
  blockedWarnMs: 500,
  blockedGraceMs: 1_500,
  endMs: 500,
  watchMs: 50,
  restartDelayMs: 20,
  maxRestartDelayMs: 100,
  suspectIdleMs: 300,
  pollMs: 20,
}

interface StagedEvent {
  readonly id: string
  readonly type?: string
  /** Its id, if it is not given. */
  readonly key?: string
  readonly data?: object
}

export type RunnerStage = Awaited<ReturnType<typeof stageRunner>>

interface RunnerStageOptions {
  readonly timing?: Partial<RunnerTiming>
  readonly watch?: boolean
  /** More files of the handlers folder, by their names there. */
  readonly files?: Readonly<Record<string, string>>
}

/** A handler from test/fixtures/handlers without its types: each thread would need 0.1 s to remove them. */
export async function fixture(name: string): Promise<string> {
  return stripTypeScriptTypes(await readFile(join(import.meta.dirname, `../fixtures/handlers/${name}.ts`), 'utf8'))
}

/** Real threads and a real file, with copies of handlers from test/fixtures/handlers. */
export async function stageRunner(
  handlers: readonly string[],
  { timing = shortTiming, watch = false, files = {} }: RunnerStageOptions = {},
) {
  await using opened = new AsyncDisposableStack()
  const dir = opened.use(await createTempDir()).path
  const handlersDir = join(dir, 'handlers')
  await mkdir(handlersDir)
  for (const name of handlers) {
    await writeFile(join(handlersDir, `${name}.mjs`), await fixture(name))
  }
  for (const [name, source] of Object.entries(files)) {
    await mkdir(dirname(join(handlersDir, name)), { recursive: true })
    await writeFile(join(handlersDir, name), source)
  }

  const threads = new Map<Worker, string>()
  let started = 0
  const noteThread = (worker: Worker) => {
    threads.set(worker, worker.threadName ?? '')
    started++
    worker.once('exit', () => threads.delete(worker))
  }
  process.on('worker', noteThread)
  opened.defer(() => void process.off('worker', noteThread))

  const inbox = await createSqliteInbox({ file: join(dir, 'inbox.db') })
  opened.defer(() => inbox.close())
  // The first query starts the reader thread. Later ones see the state of a run while it is brief.
  await inbox.stats()
  /** Reasons of all replacements of threads. */
  const replaced: string[] = []
  /** Arguments of the calls of `onFailure`. */
  const failures: string[] = []
  /** Attempts by handler and kind, as they were reported. */
  const settled = new Map<string, number>()
  /** Log lines of the runner, except level debug. */
  const lines: LogLine[] = []
  const write = (fields: object, msg: string) => void lines.push({ ...fields, msg })
  const log = Object.assign(Object.create(silentLogger) as Logger, { info: write, warn: write, error: write })
  const start = (timing: Partial<RunnerTiming>) =>
    startRunner({
      inbox,
      openDispatchChannel: () => inbox.openDispatchChannel(),
      locations: { handlersDir },
      concurrency: 16,
      logLevel: 'silent',
      prettyLog: false,
      clock: systemClock,
      log,
      timing,
      watch,
      onReplaced: (reason) => replaced.push(reason),
      onFailure: (error) => failures.push(error.message),
      onSettled(counts) {
        for (const { handler, kind, count } of counts) {
          const name = `${handler} ${kind}`
          settled.set(name, (settled.get(name) ?? 0) + count)
        }
      },
    })
  const runner = await start(timing)
  opened.defer(() => runner.stop(0))
  const owned = opened.move()

  return {
    inbox,
    runner,
    handlersDir,
    replaced,
    failures,
    settled,
    lines,
    /** The lines of a file in the handlers folder, which handlers write; none without it. */
    linesOf(name: string): string[] {
      const file = join(handlersDir, name)
      return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
    },
    /** Starts another runner with the same inbox and handlers. */
    startAnother: start,
    /** Names of the running threads, without the one for queries, which comes and goes. */
    threads: () => [...threads.values()].filter((name) => name !== 'reader').toSorted(),
    /** How many threads were started so far. */
    started: () => started,
    async accept(...events: readonly StagedEvent[]) {
      await inbox.accept(events.map((event): NewEvent => toArrival(event)))
    },
    async run(id: string, handler: string) {
      const run = (await inbox.event(id))?.runs.find((candidate) => candidate.handler === handler)
      if (run === undefined) throw new Error(`there is no run of ${id} for ${handler}`)
      return run
    },
    /** Waits until no run is open. */
    drained: () => until(async () => (await inbox.stats()).oldestOpenAt === null, 'all runs ended', 300_000),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function toArrival(event: StagedEvent): NewEvent {
  const { id, type = 'wallet.large_trade', key = id, data = {} } = event
  return { ...anEvent(id, { type, key }), raw: eventBytes({ id, type, data: { ...data } }) }
}
