import { relative } from 'node:path'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import type { OpenBreaker } from './circuit-breaker.ts'
import { sinksOf } from './outbox.ts'
import { refuseSameName } from './registry.ts'
import {
  runnerTiming,
  type HandlerInfo,
  type RunnerOrder,
  type RunnerTiming,
  type StartData,
} from './runner-protocol.ts'
import { everything, type Selection } from './handler-locations.ts'
import { maxDraining, ThreadGroup, type ThreadOptions } from './thread-group.ts'
import { HandlerWatch } from './watch.ts'
import { toRoute } from './resolved-handler.ts'

export interface RunnerOptions extends ThreadOptions {
  readonly inbox: ThreadOptions['inbox'] & Pick<Inbox, 'register'>
  /** True: reload handlers when their files change. */
  readonly watch?: boolean
  /** Called when more than `maxStuck` threads are stuck in native calls. Only a new process helps. */
  readonly onFailure: (error: InboxError) => void
  /** Called after each reload with the changed files, relative to the folder. */
  readonly onReloaded?: (handlers: readonly HandlerInfo[], changed: readonly string[]) => void
  /** Default: `runnerTiming`. */
  readonly timing?: Partial<RunnerTiming>
}

/** Maximum number of threads stuck in native calls. Only the end of the process frees them. */
const maxStuck = 4

export type Runner = Awaited<ReturnType<typeof startRunner>>

/**
 * Starts the handler threads and keeps them running: one for all handlers, plus one per isolated handler. After a
 * change of files (with `watch`), or when other handlers are isolated than before, everything is loaded again. The new
 * threads take over once they have loaded; the old ones finish their runs.
 */
export async function startRunner(options: RunnerOptions) {
  const { inbox, locations, clock, log } = options
  const timing = { ...runnerTiming, ...options.timing }
  /** All groups with threads: current, loading and draining ones. */
  const groups = new Set<ThreadGroup>()
  let current: readonly ThreadGroup[] = []
  /** Replaced groups that finish their runs, oldest first. */
  const draining: (readonly ThreadGroup[])[] = []
  let started = 0
  let stuck = 0
  let processes = 1
  /** Files changed since the last load; undefined: no reload is wanted. */
  let toReload: readonly string[] | undefined
  let reloading: Promise<void> | undefined
  let loading: AbortController | undefined
  let lastTask: Promise<unknown> = Promise.resolve()
  let stopping: Promise<void> | undefined

  const watch =
    options.watch === true && locations.handlersDir !== null
      ? new HandlerWatch({ handlersDir: locations.handlersDir, pollMs: timing.pollMs, clock, onChange: reload })
      : undefined

  const handlersOf = (listed: readonly ThreadGroup[]) => listed.flatMap((group) => group.handlers)

  function createGroup(selection: Selection): ThreadGroup {
    const group = new ThreadGroup({
      ...options,
      selection,
      timing,
      nextOwner: (role) => `${role}-${++started}`,
      onImport: (file, stamp) => watch?.note(file, stamp),
      onStuck: noteStuck,
      onRunsReleased: lookForSuspects,
      admit: (restarted, handlers) => oneAtATime(() => admit(restarted, handlers)),
    })
    groups.add(group)
    return group
  }

  function noteStuck(ended: Promise<unknown>): void {
    stuck++
    void ended.then(() => stuck--)
    if (stuck <= maxStuck || stopping !== undefined) return
    options.onFailure(new InboxError('handler_stuck', `${stuck} handler threads are stuck in native calls`))
  }

  async function abandon(abandoned: readonly ThreadGroup[]): Promise<void> {
    await Promise.all(abandoned.map((group) => group.abandon()))
    for (const group of abandoned) groups.delete(group)
  }

  /**
   * Loads all handlers. Only then is it known which are isolated: each of those is loaded again in a separate thread,
   * and the others in one without them.
   */
  async function loadAll(signal: AbortSignal): Promise<readonly ThreadGroup[]> {
    const [combined] = await loadGroups([everything], signal)
    if (combined === undefined) return []
    const isolated = combined.handlers.filter(({ isolate }) => isolate).map(({ file }) => file)
    if (isolated.length === 0) return [combined]
    await abandon([combined])
    return loadGroups([{ except: isolated }, ...isolated.map((only) => ({ only }))], signal)
  }

  async function loadGroups(selections: readonly Selection[], signal: AbortSignal): Promise<readonly ThreadGroup[]> {
    const loaded = selections.map(createGroup)
    const abandonLoaded = () => void abandon(loaded)
    signal.addEventListener('abort', abandonLoaded)
    try {
      signal.throwIfAborted()
      await Promise.all(loaded.map((group) => group.load()))
      signal.throwIfAborted()
      return loaded
    } catch (error) {
      await abandon(loaded)
      throw error
    } finally {
      signal.removeEventListener('abort', abandonLoaded)
    }
  }

  /** One task at a time, because each registers all routes. */
  function oneAtATime<T>(task: () => Promise<T>): Promise<T> {
    const result = lastTask.then(task)
    lastTask = result.catch(() => {})
    return result
  }

  async function register(handlers: readonly HandlerInfo[]): Promise<StartData> {
    handlers.forEach((handler, index) => refuseSameName(handlers.slice(0, index), handler))
    const concurrencies = await inbox.register(handlers.map(toRoute))
    return { concurrencies, processes, sinks: sinksOf(handlers) }
  }

  /** Called when a lost thread has loaded its handlers again: its files may have changed. */
  async function admit(restarted: ThreadGroup, handlers: readonly HandlerInfo[]): Promise<StartData> {
    if (stopping !== undefined || !current.includes(restarted))
      throw new InboxError('shutting_down', 'the thread group was replaced')
    if (!matchesSelection(restarted.selection, handlers)) {
      if (reloading === undefined) reload([])
      throw new InboxError('handler_invalid', 'the set of isolated handlers changed; reloading all handlers')
    }
    const startData = await register(current.flatMap((group) => (group === restarted ? handlers : group.handlers)))
    for (const group of current) if (group !== restarted) group.send({ kind: 'sinks', sinks: startData.sinks })
    return startData
  }

  /** Replaces the current groups by loaded ones. */
  async function takeOver(loaded: readonly ThreadGroup[]): Promise<void> {
    const startData = await register(handlersOf(loaded))
    const old = current
    current = loaded
    // Before the new ones start: runs claimed from now on are theirs.
    await Promise.all(old.map((group) => group.retire())).catch(() => {})
    void drain(old)
    if (stopping !== undefined) return
    for (const group of loaded) group.start(startData)
  }

  async function drain(old: readonly ThreadGroup[]): Promise<void> {
    draining.push(old)
    if (draining.length > maxDraining) for (const group of draining[0] ?? []) void group.stop(0)
    await Promise.all(old.map((group) => group.drain()))
    draining.splice(draining.indexOf(old), 1)
    for (const group of old) groups.delete(group)
    await Promise.all(old.map((group) => group.emptied()))
    lookForSuspects()
  }

  function lookForSuspects(): void {
    for (const group of current) void group.runAllSuspects()
  }

  /** Aborts a load in progress, which is now outdated. */
  function reload(changed: readonly string[]): void {
    toReload = [...new Set([...(toReload ?? []), ...changed])]
    loading?.abort()
    reloading ??= reloadAll()
  }

  async function reloadAll(): Promise<void> {
    while (toReload !== undefined && stopping === undefined) {
      const changed = toReload
      toReload = undefined
      await reloadOnce(changed)
    }
    reloading = undefined
  }

  async function reloadOnce(changed: readonly string[]): Promise<void> {
    loading = new AbortController()
    const { signal } = loading
    const files = changed.map((file) => relative(locations.handlersDir ?? '', file))
    try {
      const loaded = await loadAll(signal)
      await oneAtATime(() => takeOver(loaded)).catch(async (error: unknown) => {
        await abandon(loaded)
        throw error
      })
      watch?.keep(new Set(loaded.flatMap((group) => group.files)))
      const handlers = handlersOf(loaded)
      log.info({ handlers: handlers.map(({ name }) => name), changed: files }, 'handlers reloaded')
      options.onReloaded?.(handlers, files)
    } catch (error) {
      if (signal.aborted || stopping !== undefined) return
      log.error({ error: messageOf(error), changed: files }, 'reload failed, old handlers continue')
      if (error instanceof InboxError && !error.code.startsWith('handler_')) {
        clock.after(timing.maxRestartDelayMs, () => reload(changed))
      }
    }
  }

  async function stop(graceMs: number): Promise<void> {
    watch?.close()
    loading?.abort()
    await Promise.all([...groups].map((group) => group.stop(graceMs)))
    await reloading
  }

  await watch?.start()
  try {
    current = await loadAll(new AbortController().signal)
    const startData = await register(handlersOf(current))
    for (const group of current) group.start(startData)
  } catch (error) {
    watch?.close()
    await abandon([...groups])
    throw error
  }
  return {
    get handlers(): readonly HandlerInfo[] {
      return handlersOf(current)
    },
    /** The handlers that have runs in flight. */
    get inFlight(): readonly string[] {
      return [...groups].flatMap((group) => group.inFlight)
    },
    /** Sinks that send nothing for now, by name. */
    get openBreakers(): ReadonlyMap<string, OpenBreaker> {
      const now = clock.now()
      // Threads don't report the end of a pause.
      const hasExpired = ({ reason, until }: OpenBreaker) => reason === 'pause' && until <= now
      return new Map(current.flatMap((group) => group.openBreakers).filter(([, open]) => !hasExpired(open)))
    },
    /** Sends an order to all threads: `secrets` after a change, `recall` after a pause or a cancelled replay. */
    send(order: Exclude<RunnerOrder, { kind: 'sinks' }>): void {
      if (order.kind === 'share') ({ processes } = order)
      for (const group of groups) group.send(order)
    },
    /** Call this after a resume, and when another process may have died with runs in flight. */
    lookForSuspects,
    /** Lets runs in flight finish for `graceMs` milliseconds, aborts them, releases the rest, ends the threads. Idempotent. */
    stop: (graceMs: number): Promise<void> => (stopping ??= stop(graceMs)),
  }
}

/** True when these handlers still match the selection of their thread group. */
function matchesSelection(selection: Selection, handlers: readonly HandlerInfo[]): boolean {
  if ('only' in selection) return handlers.length === 1 && handlers[0]?.isolate === true
  return handlers.every(({ isolate }) => !isolate)
}
