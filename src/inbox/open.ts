import type { MessagePort } from 'node:worker_threads'
import type { Clock, Timer } from '../base/clock.ts'
import type { DatabaseSetting } from '../config/values.ts'
import { describeDatabase } from '../base/database-url.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { ClusterPort } from './cluster-port.ts'
import { orphanedHandlers, type CrashedRun, type GapRecord, type Inbox } from './port.ts'
import type { OnUpgrade } from './types.ts'
import type { MigrateSetting } from './postgres/migrate.ts'
import { openDispatchChannel } from './rpc.ts'
import { createSqliteInbox, type SqliteInbox } from './sqlite/inbox.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'

/** Runs of a handler that was renamed, removed or paused wait for ever, unless somebody is told. */
export async function reportWaiting(
  inbox: Pick<Inbox, 'stats'>,
  handlers: readonly { readonly name: string }[],
  log: Logger,
): Promise<void> {
  const loaded = new Set(handlers.map(({ name }) => name))
  const stats = await inbox.stats()
  const gone = orphanedHandlers(stats.handlers, handlers)
  if (gone.length > 0) log.warn({ handlers: gone }, 'open runs belong to handlers that are not loaded')
  const paused = stats.handlers.filter((row) => row.paused && loaded.has(row.handler)).map(({ handler }) => handler)
  if (stats.paused || paused.length > 0) {
    const waiting = { all: stats.paused, handlers: paused }
    log.warn(waiting, 'handlers are paused: their runs wait until somebody resumes them')
  }
}

export interface OpenInboxOptions {
  readonly database: DatabaseSetting
  /** Of PostgreSQL; default `refuse`. */
  readonly migrate?: MigrateSetting
  /** Of PostgreSQL: hours that a handler which no replica holds gets runs. */
  readonly orphanHours?: number
  readonly clock: Clock
  readonly log: Logger
}

export interface OpenedInbox {
  readonly inbox: Inbox
  /** A port for `connectDispatchStore`, to hand to another thread. */
  readonly openDispatchChannel: () => Promise<MessagePort>
  /** Where several processes share the inbox. */
  readonly cluster?: ClusterPort
}

const upgradeLogMs = 5_000

/** Logs the step that an upgrade is at when it begins, and every 5 s until `end`. */
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

/** Opens the inbox that a setting names, and says aloud what was found in it. */
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
      // Loaded only where it is used, and Kysely with it.
      const { createMemoryInbox } = await import('./sqlite/local.ts')
      const inbox = await createMemoryInbox({ clock })
      return { inbox, openDispatchChannel: async () => openDispatchChannel(inbox) }
    }
    case 'postgres': {
      const { url } = database
      // Loaded by those who use it only.
      const { createPostgresInbox } = await import('./postgres/inbox.ts')
      const inbox = await createPostgresInbox({
        url,
        clock,
        ...(migrate !== undefined && { migrate }),
        onUpgrade,
        ...(orphanHours !== undefined && { orphanMs: orphanHours * 3_600_000 }),
        onWarning: (text) => log.warn(text),
      })
      log.info({ database: describeDatabase(url), replica: inbox.replicaId }, 'database opened')
      return { inbox, openDispatchChannel: async () => openDispatchChannel(inbox), cluster: inbox }
    }
    case 'sqlite': {
      const inbox = await createSqliteInbox({ file: database.file, onWarning: (text) => log.warn(text), onUpgrade })
      reportIntegrity(inbox, database.file, log)
      reportDead(inbox.deadAtStart, clock, log)
      return { inbox, openDispatchChannel: () => inbox.openDispatchChannel() }
    }
  }
}

/** So long a stop is worth a warning: the sender may have tried in vain. */
const longGapMs = 60_000

/**
 * To be called when deliveries are going to be taken: says for how long they were not, and what the sender makes of that; and, at each
 * start until somebody has acknowledged it, what it does not try again.
 */
export async function startServing(inbox: Inbox, clock: Clock, log: Logger): Promise<void> {
  await inbox.startServing()
  const gaps = await inbox.gaps()
  for (const gap of gaps.toReversed()) {
    if (needsReplay(gap)) log.error(fieldsOf(gap), gap.kind === 'restored' ? wasRestored : wasOutTooLong)
  }
  const [last] = gaps
  if (last === undefined || needsReplay(last) || clock.now() - last.to > longGapMs) return
  const level = last.to - last.from > longGapMs ? 'warn' : 'info'
  log[level](fieldsOf(last), 'out of service; the sender tries again what it could not deliver')
}

const wasOutTooLong = 'out of service for so long that the sender gave events up: replay them by hand'
const wasRestored = 'restored from a backup: what was accepted after that was made is gone: replay it by hand'

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

/** As of those that become dead letters later; there are as many as were in flight. */
function reportDead(dead: readonly CrashedRun[], clock: Clock, log: Logger): void {
  const limit = createLogLimit(clock)
  for (const { handler, eventId, attempt, error } of dead) {
    const line = limit()
    const fields = { handler, eventId: safeText(eventId), attempt, error: safeText(`${error.name}: ${error.message}`) }
    if (line !== null) log.error({ ...fields, ...line }, 'a run is a dead letter')
  }
}

/** Says aloud what the file tells about its past. The check of its structure reads all of it, so it goes on in the background. */
function reportIntegrity(inbox: SqliteInbox, file: string, log: Logger): void {
  const { missingSeqs, lastSeq, cleanStop, checkDue, synchronous } = inbox.integrity
  log.info({ file, lastSeq, cleanStop, synchronous }, 'database opened')
  if (missingSeqs > 0) {
    log.error(
      { file, missingSeqs },
      'accepted events are missing from the database: it was damaged, or replaced by an older copy; restore a backup, or ' +
        'have the sender replay',
    )
  }
  if (!checkDue) return
  inbox.quickCheck().then(
    (result) => {
      if (result !== 'ok') log.error({ file, result }, 'the database is damaged: restore a backup')
    },
    (error: unknown) => {
      if (error instanceof InboxError && error.code === 'shutting_down') return // The next start checks it.
      log.warn({ file, error: messageOf(error) }, 'the database could not be checked')
    },
  )
}
