import { hourMs, minuteMs, type Clock, type Timer } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import { openRunsOf, type Inbox, type InboxStats } from '../inbox/port.ts'
import { safeText, type Logger } from '../base/log.ts'
import { readStored, type ProcessFacts, type StoredFacts, type StoredReading, type Warning } from './facts.ts'
import { createCadences, findSilences, type Silence } from './silence.ts'
import { createLedger, type Notify } from './ledger.ts'
import { createNotifier, type ReplicaWarning, type Transition } from './notifier.ts'
import type { MeteredSender } from './senders.ts'
import { findWarnings, replicaCodes } from './warnings.ts'

/** The queue at the end of a minute. */
export interface Backlog {
  /** Start of the minute, in milliseconds since 1970. */
  readonly at: number
  readonly openRuns: number
  readonly deadLetters: number
}

export interface HealthWatchOptions {
  readonly inbox: Inbox
  readonly senders: readonly MeteredSender[]
  readonly clock: Clock
  readonly log: Logger
  /** The facts that the watch doesn't know itself. */
  readonly facts: () => Omit<ProcessFacts, 'now' | 'startedAt' | 'senders'>
  /** Without a trailing slash; null: unknown. */
  readonly consoleUrl: string | null
  /** True (default): also stores warnings as internal events. False: logs them only. */
  readonly storesEvents?: boolean
  /** Set if several processes share the store. */
  readonly cluster?: WatchCluster | undefined
}

/**
 * Each process notifies of warnings about itself. The leader also notifies of the store's warnings, and of the end of
 * warnings of absent processes.
 */
export interface WatchCluster {
  readonly replicaId: string
  /** True if this process is the leader. */
  isLeader(): boolean
  /** Ids of the living replicas. Rejects if they can't be read. */
  living(): Promise<readonly string[]>
}

export type HealthWatch = ReturnType<typeof createHealthWatch>

const checkMs = 10_000
/**
 * The store is read this long after its last change: some counts are cached. Later reads would only keep the reader thread and
 * its memory.
 */
const settledMs = 2 * 60_000
const latelyMs = 5 * 60_000

/**
 * Checks health at the start and then every ten seconds, never concurrently. `warnings()` lists results at once.
 * Notifications (log and internal events) need a second check that confirms them, because values at a start are often unusual.
 */
export function createHealthWatch(options: HealthWatchOptions) {
  const { inbox, clock, log, cluster } = options
  const startedAt = clock.now()
  const ledger = createLedger()
  const notifier = createNotifier(options)
  const absences = createAbsences()
  const cadences = createCadences()
  let silences: readonly Silence[] = []
  let reading: StoredReading | null = null
  /** Of the store, when it was last read. Null: unknown. */
  let revision: number | null = null
  let changedAt = -Infinity
  let backlog: readonly Backlog[] = []
  let isRestored = false
  /** True if this process notifies of the store's warnings, and has restored earlier notifications. */
  let notifiesOfStore = false
  /** Time of the last read of the store. After a long pause, others may have declared this process absent. */
  let readAt = -Infinity
  /** Warnings of absent processes whose end is due. */
  let endedElsewhere: readonly ReplicaWarning[] = []
  let checks = 0
  let isClosed = false
  let isUnreadable = false
  let timer: Timer | undefined

  function processFacts(): ProcessFacts {
    return {
      ...options.facts(),
      now: clock.now(),
      startedAt,
      senders: options.senders.map(({ sender, meter }) => {
        return {
          sender,
          lastMinutes: meter.summary(latelyMs),
          lastHour: meter.summary(hourMs),
          mismatches: meter.mismatches(latelyMs),
          mismatchesLastHour: meter.mismatches(hourMs),
          rejections: meter.rejections(latelyMs),
          signatures: meter.signatures(minuteMs),
        }
      }),
    }
  }

  async function storedFacts(): Promise<StoredFacts | null> {
    try {
      const now = clock.now()
      const before = revision
      revision = await inbox.revision()
      if (revision === null || revision !== before) changedAt = now
      const isSettled = now - changedAt > settledMs && now >= changedAt
      if (reading === null || !isSettled) reading = await readStored(inbox, now, cadences)
      await restore()
      isUnreadable = false
      return { ...reading, silences: findSilences(reading.cadences, reading.gaps, now) }
    } catch (error) {
      if (!isUnreadable && !isClosed) log.warn({ error: safeText(messageOf(error)) }, 'reading health failed')
      isUnreadable = true
      return null
    }
  }

  /** Restores earlier notifications first, or they would be sent again. */
  async function restore(): Promise<void> {
    const now = clock.now()
    const leads = cluster?.isLeader() ?? true
    const isNewLeader = leads && !notifiesOfStore
    const mayHaveBeenAbsent = cluster !== undefined && isRestored && now - readAt >= absenceCheckMs
    const isDue = cluster !== undefined && leads && absences.isDue(now)
    if (!isRestored || isNewLeader || mayHaveBeenAbsent || isDue) {
      const notified = await notifier.open()
      const isOfReplica = ({ warning }: ReplicaWarning) => cluster !== undefined && replicaCodes.has(warning.code)
      if (!isRestored || isNewLeader)
        ledger.restore(
          notified.filter((warning) => !isOfReplica(warning)),
          now,
        )
      if (mayHaveBeenAbsent) {
        ledger.forget((code) => replicaCodes.has(code))
        ledger.restore(
          notified.filter((warning) => isOfReplica(warning) && warning.replica === cluster.replicaId),
          now,
        )
      }
      if (isDue) {
        const present = new Set([cluster.replicaId, ...(await cluster.living())])
        endedElsewhere = absences.check(notified.filter(isOfReplica), present, now)
      }
    }
    isRestored = true
    notifiesOfStore = leads
    readAt = now
  }

  async function check(): Promise<void> {
    const stored = await storedFacts()
    if (isClosed) return
    const facts = processFacts()
    if (stored !== null) {
      ;({ silences } = stored)
      backlog = withBacklog(backlog, stored.stats, facts.now)
    }
    ledger.update(findWarnings(facts, stored, ledger), facts.now, stored === null)
    // Notifies only after earlier notifications are restored, or they would be sent again, and never at the first check.
    if (++checks === 1 || !isRestored) return
    const replica = (code: string) => (cluster !== undefined && replicaCodes.has(code) ? cluster.replicaId : null)
    const notify: Notify = (notified, transition, isFirst) => {
      if (isFirst) logTransition(notified.warning, transition)
      return (
        options.storesEvents === false ||
        notifier.notify({ ...notified, replica: replica(notified.warning.code) }, transition)
      )
    }
    // If the limit is reached, the next check for absent replicas finds these again.
    for (const ended of endedElsewhere)
      if (options.storesEvents === false || notifier.notify(ended, 'resolved')) logTransition(ended.warning, 'resolved')
    endedElsewhere = []
    ledger.notifyWith(notify, facts.now, (code) => notifiesOfStore || replicaCodes.has(code))
    await notifier.flush()
  }

  function logTransition({ code, subject, level, title }: Warning, transition: Transition): void {
    const fields = { code, subject: safeText(subject), severity: level, title }
    if (transition === 'resolved') log.info(fields, 'warning ended')
    else log[level === 'critical' ? 'error' : 'warn'](fields, 'warning began')
  }

  function run(): Promise<void> {
    return check()
      .catch((error: unknown) => log.error({ error: safeText(messageOf(error)) }, 'health check failed'))
      .finally(() => {
        if (isClosed) return
        timer = clock.after(checkMs, () => {
          running = run()
        })
      })
  }
  let running: Promise<void> = Promise.resolve()

  return {
    /** Call once deliveries are accepted: before that, the latest downtime is unknown. */
    start(): void {
      running = run()
    },
    /** Warnings of the last check, most urgent first. */
    warnings: () => ledger.current(),
    /** Silent series first, ended ones last. */
    silences: () => silences,
    /** The last hour, oldest first; minutes before the start are missing. */
    backlog: () => backlog,
    async close(): Promise<void> {
      isClosed = true
      timer?.cancel()
      await running
    },
  }
}

/** The latest check of a minute counts. */
function withBacklog(before: readonly Backlog[], { handlers }: InboxStats, now: number): readonly Backlog[] {
  const at = Math.floor(now / minuteMs) * minuteMs
  const openRuns = handlers.reduce((sum, row) => sum + openRunsOf(row) + row.running, 0)
  const deadLetters = handlers.reduce((sum, { dead, held }) => sum + dead + held, 0)
  // If the clock was set back, drop later minutes.
  const lastHour = before.filter((minute) => minute.at > at - hourMs && minute.at < at)
  return [...lastHour, { at, openRuns, deadLetters }]
}

/** Interval of checks for absent replicas, in milliseconds. */
const absenceCheckMs = 10 * 60_000

/** Finds replicas that are gone: absent in two consecutive checks. No I/O. */
function createAbsences() {
  let missing = new Set<string>()
  let checkedAt = -Infinity
  return {
    isDue: (now: number) => now - checkedAt >= absenceCheckMs,
    /** Returns the notified warnings of gone replicas, whose end is due. */
    check(notified: readonly ReplicaWarning[], present: ReadonlySet<string>, now: number): readonly ReplicaWarning[] {
      const absent = notified.filter(({ replica }) => replica === null || !present.has(replica))
      const gone = absent.filter((warning) => missing.has(keyOfWarning(warning)))
      missing = new Set(absent.map(keyOfWarning))
      checkedAt = now
      return gone
    },
  }
}

function keyOfWarning({ warning, notifiedAt, replica }: ReplicaWarning): string {
  return JSON.stringify([warning.code, warning.subject, notifiedAt, replica])
}
