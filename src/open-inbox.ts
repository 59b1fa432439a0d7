import type { MessagePort } from 'node:worker_threads'
import type { Clock } from './clock.ts'
import type { DatabaseSetting } from './config/values.ts'
import { InboxError, messageOf } from './errors.ts'
import { createMemoryInbox } from './inbox/memory.ts'
import type { Inbox } from './inbox/port.ts'
import { openWorkPort } from './inbox/remote-work.ts'
import { createSqliteInbox, type SqliteInbox } from './inbox/sqlite/inbox.ts'
import { outlookAfter } from './ladder.ts'
import type { Logger } from './log.ts'

/** Runs of a handler that was renamed or removed wait for ever, unless somebody is told. */
export async function reportLeftBehind(
  inbox: Pick<Inbox, 'stats'>,
  handlers: readonly { readonly name: string }[],
  log: Logger,
): Promise<void> {
  const loaded = new Set(handlers.map(({ name }) => name))
  const stats = await inbox.stats()
  const leftBehind = stats.handlers
    .map(({ handler, waiting, ready, suspect }) => ({ handler, openRuns: waiting + ready + suspect }))
    .filter(({ handler, openRuns }) => openRuns > 0 && !loaded.has(handler))
  if (leftBehind.length > 0) log.warn({ handlers: leftBehind }, 'open runs belong to handlers that are not loaded')
}

export interface OpenInboxOptions {
  readonly database: DatabaseSetting
  readonly clock: Clock
  readonly log: Logger
}

export interface OpenedInbox {
  readonly inbox: Inbox
  /** A port for `connectWork`, to hand to another thread. */
  readonly workPort: () => Promise<MessagePort>
}

/** Opens the inbox that a setting names, and says aloud what was found in it. */
export async function openInbox({ database, clock, log }: OpenInboxOptions): Promise<OpenedInbox> {
  switch (database.kind) {
    case 'memory': {
      const inbox = createMemoryInbox({ clock })
      return { inbox, workPort: async () => openWorkPort(inbox) }
    }
    case 'sqlite': {
      const inbox = await createSqliteInbox({ file: database.file, onWarning: (text) => log.warn(text) })
      reportEvidence(inbox, database.file, log)
      return { inbox, workPort: () => inbox.workPort() }
    }
  }
}

/** So long a stop is worth a warning: the sender may have tried in vain. */
const longGapMs = 60_000

/** To be called when deliveries are going to be taken: says for how long they were not, and what the sender makes of that. */
export async function startServing(inbox: Inbox, clock: Clock, log: Logger): Promise<void> {
  await inbox.startServing()
  const [gap] = await inbox.gaps()
  if (gap === undefined || clock.now() - gap.to > longGapMs) return
  const { retriedUntil, lost } = outlookAfter(gap)
  const time = (ms: number) => new Date(ms).toISOString()
  const fields = {
    from: time(gap.from),
    to: time(gap.to),
    retriedUntil: time(retriedUntil),
    ...(lost && { lostFrom: time(lost.from), lostTo: time(lost.to) }),
  }
  if (lost !== null) log.error(fields, 'out of service for so long that the sender gave events up: replay them by hand')
  else
    log[gap.to - gap.from > longGapMs ? 'warn' : 'info'](
      fields,
      'out of service; the sender tries again what it could not deliver',
    )
}

/** Says aloud what the file tells about its past. The check of its structure reads all of it, so it goes on in the background. */
function reportEvidence(inbox: SqliteInbox, file: string, log: Logger): void {
  const { missingSeqs, lastSeq, cleanStop, checkDue, synchronous } = inbox.evidence
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
