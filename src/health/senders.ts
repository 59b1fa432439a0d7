import type { Clock } from '../base/clock.ts'
import { outlookAfter, retryDelaysMs, retryPeriodMs, slackMs, type DowntimeOutlook } from '../base/retry-schedule.ts'
import { defaultSource, type GapRecord } from '../inbox/port.ts'
import type { SourceSettings } from '../sources/settings.ts'
import { ackBudgetMs, createMeter, type HealthMeter } from './meter.ts'
import { lengthText, listText } from './words.ts'

/** What health knows about the sender of a source. */
export interface Sender extends Pick<SourceSettings, 'ackLimitMs' | 'retries' | 'rejectsOld'> {
  /** Name of the source. */
  readonly source: string
  /** Setting with its secrets. Null: its public keys are fetched. */
  readonly secretsSetting: string | null
}

/** The sender of the default source (R79, R81–R86). */
export const defaultSender: Sender = {
  source: defaultSource,
  ackLimitMs: ackBudgetMs,
  retries: { delaysMs: retryDelaysMs, maxAttempts: null, windowMs: retryPeriodMs - slackMs, final4xx: [] },
  rejectsOld: false,
  secretsSetting: 'INBOX_SECRETS',
}

export interface MeteredSender {
  readonly sender: Sender
  readonly meter: HealthMeter
}

export interface MetersOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly unusableStatus: number
  readonly hasDefaultSource: boolean
  readonly sources: readonly SourceSettings[]
}

/** The wrong provider expects another header, and a wrong `keys.url` has other keys. */
const reasonsOfSources = ['mismatch', 'unknown_key', 'missing', 'malformed', 'repeated']

/** Creates a meter per source, the default source first if it has secrets, and one for the deliveries of all sources. */
export function createMeters({ clock, unusableStatus, hasDefaultSource, sources }: MetersOptions) {
  const senders = [...(hasDefaultSource ? [defaultSender] : []), ...sources.map(senderOf)].map((sender) => {
    const reasons = sender.source === defaultSource ? undefined : reasonsOfSources
    return { sender, meter: createMeter(clock, unusableStatus, sender.ackLimitMs, reasons) }
  })
  const [first] = senders
  const onlyMeter = sources.length === 0 ? first?.meter : undefined
  return { all: onlyMeter ?? createMeter(clock, unusableStatus), senders }
}

function senderOf({ name: source, ackLimitMs, retries, rejectsOld, keyEndpoint }: SourceSettings): Sender {
  const secretsSetting = keyEndpoint === null ? `sources.${source}.secrets` : null
  return { source, ackLimitMs, retries, rejectsOld, secretsSetting }
}

/** Time from the first to the last attempt, in milliseconds; null: undocumented. */
export function retryWindowMs({ retries: { delaysMs, windowMs } }: Pick<Sender, 'retries'>): number | null {
  return windowMs ?? delaysMs?.reduce((total, delayMs) => total + delayMs, 0) ?? null
}

/** The sender's retry schedule, in one or two sentences. */
export function describeSchedule(sender: Sender): string {
  const { delaysMs, maxAttempts } = sender.retries
  const windowMs = retryWindowMs(sender)
  if (sender.source === defaultSource)
    return (
      `The sender retries a failed delivery ${listText(retryDelaysMs.map(lengthText))} after the previous failure. ` +
      `It drops the event when the sixth attempt fails, ${lengthText(retryPeriodMs - slackMs)} after the first.`
    )
  if (windowMs === null && maxAttempts !== null)
    return `The sender makes up to ${maxAttempts} attempts. When it makes them is not documented.`
  if (windowMs === null) return 'How long the sender retries is not documented, or set at the sender.'
  if (windowMs === 0) return 'The sender never retries.'
  const times = delaysMs === null ? '' : ` ${delaysMs.length} times`
  return `The sender retries a failed delivery${times} within ${lengthText(Math.max(1_000, windowMs))}, then drops the event.`
}

/** True if the sender doesn't retry after this 4xx status. */
export function isFinal({ retries: { final4xx } }: Sender, status: number): boolean {
  if (final4xx === null) return false
  return 'allBut' in final4xx ? !final4xx.allBut.includes(status) : final4xx.includes(status)
}

/** Consequences of a downtime for the events of a sender; null: unknown, because its retries are. `gaps`: all downtimes. */
export function outlookOf(sender: Sender, gap: GapRecord, gaps: readonly GapRecord[]): DowntimeOutlook | null {
  const { from, to, kind, retriedUntil, lost } = gap
  // Events of a restored time were acknowledged, so no sender sends them again.
  if (sender.source === defaultSource || kind === 'restored') return { retriedUntil: retriedUntil ?? to, lost }
  const windowMs = retryWindowMs(sender)
  if (windowMs === null) return null
  const before = gaps.filter((other) => other.to <= from && other.kind !== 'restored')
  return outlookAfter(gap, before, sender.retries.delaysMs ?? [windowMs])
}
