import type { MessagePort } from 'node:worker_threads'
import type { Clock, Timer } from '../base/clock.ts'
import type { DatabaseSetting } from '../config/values.ts'
import { describeDatabase } from '../base/database-url.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { ClusterPort } from './cluster-port.ts'
import { orphanedHandlers, type CrashedRun, type GapRecord, type Inbox } from './port.ts'
import type { MigrateSetting, OnUpgrade, OnWarning } from './types.ts'
import { openDispatchChannel } from './rpc.ts'
import { createSqliteInbox, type SqliteInbox } from './sqlite/inbox.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'

/** Warns about pending runs of handlers that are not loaded or are paused: they wait until an operator acts. */
export async function reportWaiting(
  inbox: Pick<Inbox, 'stats'>,
  handlers: readonly { readonly name: string }[],
  log: Logger,
): Promise<void> {
  const loaded = new Set(handlers.map(({ name }) => name))
  const stats = await inbox.stats()
  const orphaned = orphanedHandlers(stats.handlers, handlers)
  if (orphaned.length > 0) log.warn({ handlers: orphaned }, 'pending runs without handler')
  const paused = stats.handlers.filter((row) => row.paused && loaded.has(row.handler)).map(({ handler }) => handler)
  if (stats.paused || paused.length > 0) {
    const waiting = { all: stats.paused, handlers: paused }
    log.warn(waiting, 'handlers paused')
  }
}

export interface OpenInboxOptions {
  readonly database: DatabaseSetting
  /** PostgreSQL only. Default `refuse`. */
  readonly migrate?: MigrateSetting
  /** PostgreSQL only: a handler that no replica has loaded still gets runs for this many hours. */
  readonly orphanHours?: number
  readonly clock: Clock
  readonly log: Logger
}

export interface OpenedInbox {
  readonly inbox: Inbox
  /** Opens a port for `connectDispatchStore` in another thread. */
  readonly openDispatchChannel: () => Promise<MessagePort>
  /** Present when several processes can share the inbox. */
  readonly cluster?: ClusterPort
}

const upgradeLogMs = 5_000

/** Logs each step of an upgrade when it begins, and every 5 s until `end`. */
export function createUpgradeLog(
  clock: Clock,
  log: Logger,
): { readonly onUpgrade: OnUpgrade; readonly end: () => void } {
  const startedAt = clock.now()
  let latest: { readonly step: string; readonly done: number } | undefined
  let timer: Timer | undefined
  const report = () => {
    if (latest === undefined) return
    const seconds = Math.round((clock.now() - startedAt) / 1_000)
    log.info({ step: latest.step, percent: Math.floor(latest.done * 100), seconds }, 'upgrading the database')
    timer = clock.after(upgradeLogMs, report)
  }
  return {
    onUpgrade(step, done) {
      const isNew = latest?.step !== step
      latest = { step, done }
      if (!isNew) return
      timer?.cancel()
      report()
    },
    end: () => timer?.cancel(),
  }
}

/** Opens the configured inbox and logs its state. */
export async function openInbox(options: OpenInboxOptions): Promise<OpenedInbox> {
  const upgradeLog = createUpgradeLog(options.clock, options.log)
  try {
    return await open(options, upgradeLog.onUpgrade)
  } finally {
    upgradeLog.end()
  }
}

async function open(
  { database, migrate, orphanHours, clock, log }: OpenInboxOptions,
  onUpgrade: OnUpgrade,
): Promise<OpenedInbox> {
  switch (database.kind) {
    case 'memory': {
      // Imported on use, because it loads Kysely.
      const { createMemoryInbox } = await import('./sqlite/local.ts')
      const inbox = await createMemoryInbox({ clock })
      return { inbox, openDispatchChannel: async () => openDispatchChannel(inbox) }
    }
    case 'postgres': {
      const { url } = database
      // Imported on use: most installations run on SQLite.
      const { createPostgresInbox } = await import('./postgres/inbox.ts')
      const inbox = await createPostgresInbox({
        url,
        clock,
        ...(migrate !== undefined && { migrate }),
        onUpgrade,
        ...(orphanHours !== undefined && { orphanMs: orphanHours * 3_600_000 }),
        onWarning: (message, details) => log.warn(details, message),
      })
      log.info({ database: describeDatabase(url), replica: inbox.replicaId }, 'database opened')
      return { inbox, openDispatchChannel: async () => openDispatchChannel(inbox), cluster: inbox }
    }
    case 'sqlite': {
      const onWarning: OnWarning = (message, details) => log.warn(details, message)
      const inbox = await createSqliteInbox({ file: database.file, onWarning, onUpgrade })
      reportIntegrity(inbox, database.file, log)
      reportDead(inbox.deadAtStart, clock, log)
      return { inbox, openDispatchChannel: () => inbox.openDispatchChannel() }
    }
  }
}

/** A longer gap is logged as a warning: deliveries may have failed. */
const longGapMs = 60_000

/** Call before deliveries are accepted. */
export async function startServing(inbox: Inbox, clock: Clock, log: Logger): Promise<void> {
  await inbox.startServing()
  // Not awaited: deliveries don't wait until the thread for queries has started.
  reportGaps(inbox, clock, log).catch((error: unknown) => {
    if (!(error instanceof InboxError && error.code === 'shutting_down'))
      log.warn({ error: messageOf(error) }, 'reading gaps failed')
  })
}

/** Logs the latest gap, if it is recent. Logs gaps with lost events at each start until an operator acknowledges them. */
async function reportGaps(inbox: Inbox, clock: Clock, log: Logger): Promise<void> {
  const gaps = await inbox.gaps()
  for (const gap of gaps.toReversed()) {
    if (!needsReplay(gap)) continue
    const message = gap.kind === 'restored' ? 'events lost by restore' : 'events lost in downtime'
    log.error({ ...fieldsOf(gap), advice: 'have the sender replay lostFrom to lostTo' }, message)
  }
  const [last] = gaps
  if (last === undefined || needsReplay(last) || clock.now() - last.to > longGapMs) return
  const level = last.to - last.from > longGapMs ? 'warn' : 'info'
  log[level](fieldsOf(last), 'downtime; sender will retry')
}

function needsReplay({ lost, acknowledgedAt }: GapRecord): boolean {
  return lost !== null && acknowledgedAt === null
}

function fieldsOf({ from, to, retriedUntil, lost }: GapRecord) {
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    from: time(from),
    to: time(to),
    ...(retriedUntil !== null && { retriedUntil: time(retriedUntil) }),
    ...(lost && { lostFrom: time(lost.from), lostTo: time(lost.to) }),
  }
}

/** Logs the runs that became dead letters because an earlier process died. */
function reportDead(dead: readonly CrashedRun[], clock: Clock, log: Logger): void {
  const limit = createLogLimit(clock)
  for (const { handler, eventId, attempt, error } of dead) {
    const line = limit()
    const fields = { handler, eventId: safeText(eventId), attempt, error: safeText(`${error.name}: ${error.message}`) }
    if (line !== null) log.error({ ...fields, ...line }, 'run became a dead letter')
  }
}

/** Logs the integrity of the file. The structure check reads the whole file, so it runs in the background. */
function reportIntegrity(inbox: SqliteInbox, file: string, log: Logger): void {
  const { missingSeqs, lastSeq, cleanStop, checkDue, synchronous } = inbox.integrity
  log.info({ file, lastSeq, cleanStop, synchronous }, 'database opened')
  if (missingSeqs > 0) {
    log.error(
      { file, missingSeqs, advice: 'restore a backup, or have the sender replay' },
      'accepted events are missing',
    )
  }
  if (!checkDue) return
  inbox.quickCheck().then(
    (result) => {
      if (result !== 'ok') log.error({ file, result, advice: 'restore a backup' }, 'database damaged')
    },
    (error: unknown) => {
      if (error instanceof InboxError && error.code === 'shutting_down') return // The next start checks again.
      log.warn({ file, error: messageOf(error) }, 'database check failed')
    },
  )
}
