import type { Clock, Timer } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import { safeText, type Logger } from '../base/log.ts'
import { gatherStored, type ProcessFacts, type ShutSink, type StoredFacts } from './facts.ts'
import type { DriftCounter } from './drift.ts'
import { createCadences } from './silence.ts'
import { createLedger, type Tell } from './ledger.ts'
import type { HealthMeter } from './meter.ts'
import { createNotifier, type OwnWarning, type Turn } from './notifier.ts'
import type { HealthWatch, Silence, Warning } from './port.ts'
import { findWarnings, ownCodes } from './warnings.ts'

export interface HealthWatchOptions {
  readonly inbox: Inbox
  readonly meter: HealthMeter
  readonly drift: Pick<DriftCounter, 'records'>
  readonly clock: Clock
  readonly log: Logger
  /** Whether a commit can succeed, the disk taken into account. */
  readonly storeHealth: () => ProcessFacts['store']
  /** Of the disk of the database; null: not known. Never rejects. */
  readonly freeBytes: () => Promise<number | null>
  readonly reserveBytes: number
  /** Names of the handlers that are loaded, and those of them that are sinks left alone. */
  readonly handlers: () => readonly string[]
  readonly shut: () => ReadonlyMap<string, ShutSink>
  readonly secretLabels: () => readonly string[]
  /** Without a slash at its end; null: not known. */
  readonly consoleUrl: string | null
  /** Whether it is told by events of the inbox's own, too; otherwise by the log alone. Default true. */
  readonly storesEvents?: boolean
  /** Where several processes share the store. */
  readonly cluster?: WatchCluster | undefined
}

/** Each of the processes tells of itself; one of them of what is about the store, and of the end of what is about those that are gone. */
export interface WatchCluster {
  readonly replicaId: string
  /** Whether that one is this. */
  isLeader(): boolean
  /** The ids of those that are there. Rejects while that cannot be read. */
  living(): Promise<readonly string[]>
}

const lookMs = 10_000
const latelyMs = 5 * 60_000
const hourMs = 3_600_000

/**
 * Looks when it is started, and every ten seconds from then on, never twice at the same time. What it finds is listed at once; told, to the log and by events of
 * the inbox's own, is what is on at the second look or later, since much is odd for a moment at a start.
 */
export function createHealthWatch(options: HealthWatchOptions): HealthWatch & { start(): void } {
  const { inbox, meter, clock, log, cluster } = options
  const startedAt = clock.now()
  const ledger = createLedger()
  const notifier = createNotifier(options)
  const absences = createAbsences()
  const cadences = createCadences()
  let silences: readonly Silence[] = []
  let isRestored = false
  /** Whether this process tells of the store, and knows what was told of it. */
  let tellsOfStore = false
  /** When the store was read last: whoever did not for long may have been taken for gone. */
  let readAt = -Infinity
  /** What is to be told as over, for it was about a process that is gone. */
  let leftBehind: readonly OwnWarning[] = []
  let looks = 0
  let isClosed = false
  let isUnreadable = false
  let timer: Timer | undefined

  async function processFacts(): Promise<ProcessFacts> {
    return {
      now: clock.now(),
      startedAt,
      store: options.storeHealth(),
      freeBytes: await options.freeBytes(),
      reserveBytes: options.reserveBytes,
      lately: meter.summary(latelyMs),
      lastHour: meter.summary(hourMs),
      mismatches: meter.mismatches(latelyMs),
      mismatchesLastHour: meter.mismatches(hourMs),
      rejections: meter.rejections(latelyMs),
      handlers: options.handlers(),
      shut: options.shut(),
      secretLabels: options.secretLabels(),
      drift: options.drift.records(),
    }
  }

  async function storedFacts(): Promise<StoredFacts | null> {
    try {
      const found = await gatherStored(inbox, clock.now(), cadences)
      await restore()
      isUnreadable = false
      return found
    } catch (error) {
      if (!isUnreadable && !isClosed)
        log.warn({ error: safeText(messageOf(error)) }, 'the store cannot be read to look after its health')
      isUnreadable = true
      return null
    }
  }

  /** What the last process told comes first, or it would be told again. */
  async function restore(): Promise<void> {
    const now = clock.now()
    const leads = cluster?.isLeader() ?? true
    const isNewLeader = leads && !tellsOfStore
    const isBack = cluster !== undefined && isRestored && now - readAt >= goneMs
    const isDue = cluster !== undefined && leads && absences.isDue(now)
    if (!isRestored || isNewLeader || isBack || isDue) {
      const told = await notifier.open()
      const isOwn = ({ warning }: OwnWarning) => cluster !== undefined && ownCodes.has(warning.code)
      if (!isRestored || isNewLeader)
        ledger.restore(
          told.filter((one) => !isOwn(one)),
          now,
        )
      if (isBack) {
        ledger.forget((code) => ownCodes.has(code))
        ledger.restore(
          told.filter((one) => isOwn(one) && one.replica === cluster.replicaId),
          now,
        )
      }
      if (isDue) {
        const present = new Set([cluster.replicaId, ...(await cluster.living())])
        leftBehind = absences.look(told.filter(isOwn), present, now)
      }
    }
    isRestored = true
    tellsOfStore = leads
    readAt = now
  }

  async function look(): Promise<void> {
    const stored = await storedFacts()
    const facts = await processFacts()
    if (isClosed) return
    if (stored !== null) ({ silences } = stored)
    ledger.update(findWarnings(facts, stored, ledger), facts.now, stored === null)
    // Before it is known what was told already, it would be told again; and a start is no time for alarms.
    if (++looks === 1 || !isRestored) return
    const replica = (code: string) => (cluster !== undefined && ownCodes.has(code) ? cluster.replicaId : null)
    const tell: Tell = (told, turn, isFirst) => {
      if (isFirst) write(told.warning, turn)
      return options.storesEvents === false || notifier.tell({ ...told, replica: replica(told.warning.code) }, turn)
    }
    // What finds no room is found again by the next look for absent replicas.
    for (const one of leftBehind)
      if (options.storesEvents === false || notifier.tell(one, 'resolved')) write(one.warning, 'resolved')
    leftBehind = []
    ledger.tellWith(tell, facts.now, (code) => tellsOfStore || ownCodes.has(code))
    await notifier.flush()
  }

  function write({ code, subject, level, title }: Warning, turn: Turn): void {
    const fields = { code, subject: safeText(subject), level, title }
    if (turn === 'resolved') log.info(fields, 'a warning is over')
    else log[level === 'critical' ? 'error' : 'warn'](fields, 'a warning has begun')
  }

  function run(): Promise<void> {
    return look()
      .catch((error: unknown) => log.error({ error: safeText(messageOf(error)) }, 'a look at the health failed'))
      .finally(() => {
        if (isClosed) return
        timer = clock.after(lookMs, () => {
          running = run()
        })
      })
  }
  let running: Promise<void> = Promise.resolve()

  return {
    /** To be called once deliveries are taken: before, the time in which none could be is not known. */
    start() {
      running = run()
    },
    warnings: () => ledger.current(),
    silences: () => silences,
    async close() {
      isClosed = true
      timer?.cancel()
      await running
    },
  }
}

/** So often it is looked who is missing. */
const goneMs = 10 * 60_000

/** Who of several processes is gone: whoever is missing at one look and at the next. No I/O. */
interface Absences {
  isDue(now: number): boolean
  /** Of what was told by processes of themselves, what is to be told as over, for they are gone. */
  look(told: readonly OwnWarning[], present: ReadonlySet<string>, now: number): readonly OwnWarning[]
}

function createAbsences(): Absences {
  let missing = new Set<string>()
  let lookedAt = -Infinity
  return {
    isDue: (now) => now - lookedAt >= goneMs,
    look(told, present, now) {
      const absent = told.filter(({ replica }) => replica === null || !present.has(replica))
      const gone = absent.filter((one) => missing.has(nameOf(one)))
      missing = new Set(absent.map(nameOf))
      lookedAt = now
      return gone
    },
  }
}

function nameOf({ warning, toldAt, replica }: OwnWarning): string {
  return JSON.stringify([warning.code, warning.subject, toldAt, replica])
}
