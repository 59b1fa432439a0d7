import { relative } from 'node:path'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Shut } from './gate.ts'
import { sinksOf } from './outbox.ts'
import { refuseSameName } from './registry.ts'
import {
  runnerTiming,
  type HandlerInfo,
  type RunnerOrder,
  type RunnerTiming,
  type StartOrders,
} from './runner-protocol.ts'
import { everything, type Selection } from './sources.ts'
import { maxDraining, ThreadGroup, type ThreadOptions } from './thread-group.ts'
import { SourceWatch } from './watch.ts'
import { toRoute } from './resolved-handler.ts'

export interface RunnerOptions extends ThreadOptions {
  readonly inbox: ThreadOptions['inbox'] & Pick<Inbox, 'register'>
  /** Whether edited handlers take the place of the old ones. */
  readonly watch?: boolean
  /** Called when more than `maxStuck` threads are stuck in native calls: only a new process helps. */
  readonly onFailure: (error: InboxError) => void
  /** Called each time they have, with the files, from the folder, that had changed. */
  readonly onReloaded?: (handlers: readonly HandlerInfo[], changed: readonly string[]) => void
  /** Default: `runnerTiming`. */
  readonly timing?: Partial<RunnerTiming>
}

/** Threads that may be stuck in native calls at once. Nothing but the end of the process frees them. */
const maxStuck = 4

export interface Runner {
  readonly handlers: readonly HandlerInfo[]
  /** The handlers that have runs in flight. */
  readonly inFlight: readonly string[]
  /** Which of them are sinks that are left alone at the moment, by name. */
  readonly shut: ReadonlyMap<string, Shut>
  /** Tells all threads. `secrets`: they have changed. `recall`: a handler was paused, or a replay cancelled. */
  tell(order: Exclude<RunnerOrder, { kind: 'sinks' }>): void
  /** To be called when there may be runs that were in flight when another process died. */
  lookForSuspects(): void
  /** Lets runs in flight finish for `graceMs` milliseconds, aborts them, gives back the rest, ends the threads. Idempotent. */
  stop(graceMs: number): Promise<void>
}

/**
 * Starts the threads that run the handlers and keeps them running: one for all, and one for each that is to be isolated. With
 * `watch`, or when it turns out that others are to be isolated than before, all are loaded anew, and the new threads take over
 * once they have loaded everything; the old ones finish what runs in them.
 */
export async function startRunner(options: RunnerOptions): Promise<Runner> {
  const { inbox, sources, clock, log } = options
  const timing = { ...runnerTiming, ...options.timing }
  /** All that have threads: the current ones, those that are being loaded, those that finish their runs. */
  const groups = new Set<ThreadGroup>()
  let current: readonly ThreadGroup[] = []
  /** What has been replaced and finishes its runs, oldest first. */
  const draining: (readonly ThreadGroup[])[] = []
  let started = 0
  let stuck = 0
  let processes = 1
  /** Files that have changed since the handlers were last loaded; undefined: no reload is wanted. */
  let wanted: readonly string[] | undefined
  let reloading: Promise<void> | undefined
  let loading: AbortController | undefined
  let lastTurn: Promise<unknown> = Promise.resolve()
  let stopping: Promise<void> | undefined

  const watch =
    options.watch === true && sources.handlersDir !== null
      ? new SourceWatch({ handlersDir: sources.handlersDir, lookMs: timing.lookMs, clock, onChange: reload })
      : undefined

  const handlersOf = (some: readonly ThreadGroup[]) => some.flatMap((group) => group.handlers)

  function createGroup(selection: Selection): ThreadGroup {
    const group = new ThreadGroup({
      ...options,
      selection,
      timing,
      nextOwner: (role) => `${role}-${++started}`,
      onImport: (file, stamp) => watch?.note(file, stamp),
      onStuck: noteStuck,
      onLeft: lookForSuspects,
      admit: (asking, handlers) => inTurn(() => admit(asking, handlers)),
    })
    groups.add(group)
    return group
  }

  function noteStuck(ended: Promise<unknown>): void {
    stuck++
    void ended.then(() => stuck--)
    if (stuck <= maxStuck || stopping !== undefined) return
    options.onFailure(new InboxError('handler_stuck', `${stuck} threads of the handlers are stuck in native calls`))
  }

  async function abandon(some: readonly ThreadGroup[]): Promise<void> {
    await Promise.all(some.map((group) => group.abandon()))
    for (const group of some) groups.delete(group)
  }

  /**
   * Loads all handlers. Only then is it known which are to be isolated: where some are, each is loaded once more by a thread of
   * its own, and the others by one without them.
   */
  async function loadAll(signal: AbortSignal): Promise<readonly ThreadGroup[]> {
    const [whole] = await loadGroups([everything], signal)
    if (whole === undefined) return []
    const isolated = whole.handlers.filter(({ isolate }) => isolate).map(({ file }) => file)
    if (isolated.length === 0) return [whole]
    await abandon([whole])
    return loadGroups([{ except: isolated }, ...isolated.map((only) => ({ only }))], signal)
  }

  async function loadGroups(selections: readonly Selection[], signal: AbortSignal): Promise<readonly ThreadGroup[]> {
    const loaded = selections.map(createGroup)
    const giveUp = () => void abandon(loaded)
    signal.addEventListener('abort', giveUp)
    try {
      signal.throwIfAborted()
      await Promise.all(loaded.map((group) => group.load()))
      signal.throwIfAborted()
      return loaded
    } catch (error) {
      await abandon(loaded)
      throw error
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  /** One at a time, because the routes are registered as a whole. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = lastTurn.then(task)
    lastTurn = result.catch(() => {})
    return result
  }

  async function register(handlers: readonly HandlerInfo[]): Promise<StartOrders> {
    handlers.forEach((handler, index) => refuseSameName(handlers.slice(0, index), handler))
    const concurrencies = await inbox.register(handlers.map(toRoute))
    return { concurrencies, processes, sinks: sinksOf(handlers) }
  }

  /** A thread that was lost has been loaded anew, maybe from files that are not what they were. */
  async function admit(asking: ThreadGroup, handlers: readonly HandlerInfo[]): Promise<StartOrders> {
    if (stopping !== undefined || !current.includes(asking)) throw new InboxError('shutting_down', 'it was replaced')
    if (!fits(asking.selection, handlers)) {
      if (reloading === undefined) reload([])
      throw new InboxError('handler_invalid', 'other handlers are to be isolated than before; all are loaded anew')
    }
    const orders = await register(current.flatMap((group) => (group === asking ? handlers : group.handlers)))
    for (const group of current) if (group !== asking) group.tell({ kind: 'sinks', sinks: orders.sinks })
    return orders
  }

  /** Puts loaded groups in the place of the current ones. */
  async function takeOver(loaded: readonly ThreadGroup[]): Promise<void> {
    const orders = await register(handlersOf(loaded))
    const old = current
    current = loaded
    // Before the new ones begin: what comes from now on is theirs.
    await Promise.all(old.map((group) => group.retire())).catch(() => {})
    void drain(old)
    if (stopping !== undefined) return
    for (const group of loaded) group.start(orders)
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
    for (const group of current) void group.workOffSuspects()
  }

  /** What is being loaded at the moment is out of date then. */
  function reload(changed: readonly string[]): void {
    wanted = [...new Set([...(wanted ?? []), ...changed])]
    loading?.abort()
    reloading ??= reloadWhileWanted()
  }

  async function reloadWhileWanted(): Promise<void> {
    while (wanted !== undefined && stopping === undefined) {
      const changed = wanted
      wanted = undefined
      await reloadOnce(changed)
    }
    reloading = undefined
  }

  async function reloadOnce(changed: readonly string[]): Promise<void> {
    loading = new AbortController()
    const { signal } = loading
    const files = changed.map((file) => relative(sources.handlersDir ?? '', file))
    try {
      const loaded = await loadAll(signal)
      await inTurn(() => takeOver(loaded)).catch(async (error: unknown) => {
        await abandon(loaded)
        throw error
      })
      watch?.keep(new Set(loaded.flatMap((group) => group.files)))
      const handlers = handlersOf(loaded)
      log.info({ handlers: handlers.map(({ name }) => name), changed: files }, 'handlers reloaded')
      options.onReloaded?.(handlers, files)
    } catch (error) {
      if (signal.aborted || stopping !== undefined) return
      log.error({ error: messageOf(error), changed: files }, 'handlers could not be reloaded; the old ones go on')
      if (error instanceof InboxError && !error.code.startsWith('handler_')) {
        clock.after(timing.longestRestartDelayMs, () => reload(changed))
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
    const orders = await register(handlersOf(current))
    for (const group of current) group.start(orders)
  } catch (error) {
    watch?.close()
    await abandon([...groups])
    throw error
  }
  return {
    get handlers() {
      return handlersOf(current)
    },
    get inFlight() {
      return [...groups].flatMap((group) => group.inFlight)
    },
    get shut() {
      const now = clock.now()
      // The end of a pause is not told.
      const isOver = ({ reason, until }: Shut) => reason === 'pause' && until <= now
      return new Map(current.flatMap((group) => group.shut).filter(([, shut]) => !isOver(shut)))
    },
    tell(order) {
      if (order.kind === 'share') ({ processes } = order)
      for (const group of groups) group.tell(order)
    },
    lookForSuspects,
    stop: (graceMs) => (stopping ??= stop(graceMs)),
  }
}

/** Whether these handlers are what such a thread is to run. */
function fits(selection: Selection, handlers: readonly HandlerInfo[]): boolean {
  if ('only' in selection) return handlers.length === 1 && handlers[0]?.isolate === true
  return handlers.every(({ isolate }) => !isolate)
}
