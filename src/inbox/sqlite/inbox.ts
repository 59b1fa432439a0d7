import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import { InboxError, messageOf } from '../../base/errors.ts'
import { siblingModule } from '../../base/sibling-module.ts'
import { viewNames, type CrashedRun, type HandlerRoute, type Inbox } from '../port.ts'
import { selectionsOf } from '../routes.ts'
import { Caller, fromWireError, remote, type Remote } from '../rpc.ts'
import type { OnUpgrade, OnWarning } from '../types.ts'
import type { Views } from '../views/views.ts'
import type { StartupIntegrityReport } from './open.ts'
import type { WriteSide } from './write-side.ts'
import type { WriterMessage, WriterThreadData } from './writer-thread.ts'
import type { WriterHealth } from './writer.ts'

export interface SqliteInboxOptions {
  readonly file: string
  readonly onWarning?: OnWarning
  readonly onUpgrade?: OnUpgrade
}

export interface SqliteInbox extends Inbox {
  /** Result of the checks when the file was opened. */
  readonly integrity: StartupIntegrityReport
  /** Runs that became dead letters because an earlier process died. */
  readonly deadAtStart: readonly CrashedRun[]
  /**
   * Checks the structure of the whole file. Returns `ok` or the first problem. Runs in its own thread, one table after the other, so that
   * it blocks checkpoints only for one table at a time.
   */
  quickCheck(): Promise<string>
  /** Opens a port for `connectDispatchStore` in another thread. */
  openDispatchChannel(): Promise<MessagePort>
}

/** A larger young generation uses more memory without being faster. `--max-semi-space-size` overrides this limit. */
const resourceLimits = { maxYoungGenerationSizeMb: 12 }

/** The reader thread ends after this time without queries, to free its memory. */
const readerIdleMs = 30_000

/** Combines the write side and the queries of a store, whichever threads they run in. */
export function composeInbox(
  writeSide: Remote<Omit<WriteSide, 'health'>>,
  views: Remote<Views>,
): Omit<Inbox, 'health' | 'onFailure' | 'close'> {
  let routes: readonly HandlerRoute[] | undefined
  return {
    ...views,
    ...writeSide,
    async register(newRoutes) {
      const concurrencies = await writeSide.register(newRoutes)
      routes = newRoutes
      return concurrencies
    },
    async startReplay(replay, by) {
      selectionsOf(replay.filter.handler, routes)
      return writeSide.startReplay(replay, by)
    },
    countReplay: async (filter) => views.countReplay(filter, selectionsOf(filter.handler, routes)),
  }
}

/**
 * The SQLite inbox: a writer thread with the only writing connection, a reader thread for the admin API. Throws
 * `database_in_use`, `database_newer`, `not_durable`, `database_corrupt` or `store_unavailable` if the file cannot be served.
 */
export async function createSqliteInbox(options: SqliteInboxOptions): Promise<SqliteInbox> {
  const { file, onWarning, onUpgrade } = options
  const failed = Promise.withResolvers<Error>()
  let health: WriterHealth = { ok: true, reason: '' }
  let failure: Error | undefined
  let closing: Promise<void> | undefined

  const writerThread = new Worker(siblingModule(import.meta.url, './writer-thread'), {
    workerData: { file } satisfies WriterThreadData,
    name: 'writer',
    resourceLimits,
  })
  const writer = new Caller(writerThread)

  function fail(error: Error): void {
    if (failure !== undefined) return
    failure = error
    health = { ok: false, reason: error.message }
    writer.end(error)
    failed.resolve(error)
  }

  const { integrity, deadAtStart, names } = await new Promise<OpenedFile>((resolve, reject) => {
    writerThread.on('message', (message: WriterMessage) => {
      if (writer.receive(message)) return
      if ('ready' in message) resolve(message.ready)
      else if ('refused' in message) reject(fromWireError(message.refused))
      else if ('health' in message) health = message.health
      else if ('warning' in message) onWarning?.(message.warning.message, message.warning.details)
      else if ('upgrade' in message) onUpgrade?.(message.upgrade.step, message.upgrade.done)
      else if ('failure' in message) fail(fromWireError(message.failure))
    })
    const end = (error: InboxError) => {
      reject(error)
      if (closing === undefined) fail(error)
      else writer.end(error)
    }
    writerThread.on('error', (error) =>
      end(new InboxError('store_unavailable', `the writer thread died: ${messageOf(error)}`, { cause: error })),
    )
    writerThread.on('exit', () => end(new InboxError('store_unavailable', 'the writer thread ended')))
  })

  let reader: Reader | undefined
  let readerTimer: NodeJS.Timeout | undefined
  let queries = 0
  let checker: Reader | undefined

  async function close(): Promise<void> {
    const closed = new InboxError('shutting_down', 'the inbox is closed')
    // Not awaited: the check of a large table takes minutes. A process that ends waits for it.
    void checker?.close(closed)
    if (failure === undefined) await writer.call('close', []).catch(() => {})
    writer.end(closed)
    clearTimeout(readerTimer)
    await Promise.all([writerThread.terminate(), reader?.close(closed)])
  }

  /** Starts the reader thread, also in place of one that died. It ends after a time without queries. */
  async function read(op: string, args: readonly unknown[]): Promise<unknown> {
    if (closing !== undefined) throw new InboxError('shutting_down', 'the inbox is closed')
    if (reader === undefined || reader.isDead) reader = startReader(file, 'reader')
    clearTimeout(readerTimer)
    queries++
    try {
      return await reader.caller.call(op, args)
    } finally {
      queries--
      if (queries === 0 && closing === undefined) readerTimer = setTimeout(endReader, readerIdleMs).unref()
    }
  }

  function endReader(): void {
    void reader?.close(new InboxError('store_unavailable', 'the reader thread is idle'))
    reader = undefined
  }

  async function quickCheck(): Promise<string> {
    const checking = (checker = startReader(file, 'checker'))
    try {
      const result = await checking.caller.call<string>('quickCheck', [])
      if (result === 'ok') await writer.call('recordIntegrityOk', [])
      return result
    } finally {
      checker = undefined
      void checking.close(new InboxError('shutting_down', 'the check has ended'))
    }
  }

  const writeSide = remote<WriteSide>((op, args) => writer.call(op, args), names as (keyof WriteSide)[])
  return {
    ...composeInbox(writeSide, remote<Views>(read, viewNames)),
    integrity,
    deadAtStart,
    quickCheck,
    async openDispatchChannel() {
      const { port1, port2 } = new MessageChannel()
      await writer.call('attach', [port2], [port2])
      return port1
    },
    health: () => health,
    onFailure: (listener) => void failed.promise.then(listener),
    close: () => (closing ??= close()),
  }
}

interface Reader {
  readonly caller: Caller
  readonly isDead: boolean
  /** Rejects all calls. Resolves when the current statement has ended. */
  close(reason: Error): Promise<void>
}

function startReader(file: string, name: 'reader' | 'checker'): Reader {
  const thread = new Worker(siblingModule(import.meta.url, './reader-thread'), {
    workerData: { file },
    name,
    resourceLimits,
  })
  if (name === 'checker') thread.unref()
  const caller = new Caller(thread)
  let isDead = false
  const die = (reason: string) => {
    isDead = true
    caller.end(new InboxError('store_unavailable', `the reader thread died: ${reason}`))
  }
  thread.on('message', (message: unknown) => void caller.receive(message))
  thread.on('error', (error) => die(messageOf(error)))
  thread.on('exit', (code) => die(`it ended with code ${code}`))
  return {
    caller,
    get isDead() {
      return isDead
    },
    async close(reason) {
      caller.end(reason)
      await thread.terminate()
    },
  }
}

type OpenedFile = Extract<WriterMessage, { ready: unknown }>['ready']
