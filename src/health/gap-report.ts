import { defaultSource, type GapRecord } from '../inbox/port.ts'
import { retryDelaysMs, slackMs } from '../base/retry-schedule.ts'
import { defaultSender, describeSchedule, outlookOf, type Sender } from './senders.ts'
import { countText, lengthText, timeText } from './words.ts'

const kinds = {
  stopped: 'stopped',
  killed: 'killed or crashed',
  stood_still: 'suspended, could not write, or clock set forward',
} as const

/**
 * Describes a downtime: when each sender retries its events, until when to wait, the lost events, and advice. One or
 * two sentences per line. Contains no external text. `gaps`: all downtimes.
 */
export function describeGap(gap: GapRecord, gaps: readonly GapRecord[], senders: readonly Sender[]): string[] {
  const { from, to, kind, retriedUntil, lost } = gap
  const others = senders.filter(({ source }) => source !== defaultSource)
  const isReceivingDefault = others.length < senders.length
  if (kind === 'restored') {
    return [
      `The database was restored from a backup. It lacks the events from ${timeText(from)} to ${timeText(to)}.`,
      'These events were acknowledged, so the sender does not send them again.',
      ...(lost === null ? [] : describeLost(lost, 'are missing and are not sent again')),
      ...describeArrivals(gap),
    ]
  }
  return [
    `Out of service for ${lengthText(to - from)}, from ${timeText(from)} to ${timeText(to)}: ${kinds[kind]}.`,
    ...(isReceivingDefault
      ? [
          describeSchedule(defaultSender),
          ...describeRetries(gap),
          ...(lost === null ? [] : describeLost(lost, 'were dropped by the sender and are not sent again')),
          ...(retriedUntil === null
            ? []
            : [`The last retry arrives by ${timeText(retriedUntil)}${lost === null ? ': nothing is lost' : ''}.`]),
        ]
      : []),
    ...others.map((sender) => describeOther(sender, gap, gaps)),
    ...describeArrivals(gap),
  ]
}

function describeOther(sender: Sender, gap: GapRecord, gaps: readonly GapRecord[]): string {
  const outlook = outlookOf(sender, gap, gaps)
  const consequence =
    outlook === null
      ? 'Compare with the deliveries listed there.'
      : outlook.lost === null
        ? `Nothing is lost: the last retry arrives by ${timeText(outlook.retriedUntil)}.`
        : `Lost: events first sent from ${timeText(outlook.lost.from)} to ${timeText(outlook.lost.to)}. Send them again from there.`
  return `Source ${sender.source}: ${describeSchedule(sender)} ${consequence}`
}

/** Retry that delivers each part of the downtime: the later the first attempt, the sooner its retry. */
function describeRetries({ from, to }: GapRecord): string[] {
  let offsetMs = 0
  const lines = retryDelaysMs.flatMap((delayMs, index) => {
    const sentBefore = to - offsetMs
    offsetMs += delayMs
    const sentFrom = Math.max(from, to - offsetMs)
    if (sentFrom >= sentBefore) return []
    const by = timeText(sentBefore + offsetMs + slackMs)
    return [
      `Events first sent from ${timeText(sentFrom)} to ${timeText(sentBefore)} arrive with retry ${index + 1}, ${lengthText(delayMs)} after the previous attempt, by ${by}.`,
    ]
  })
  return lines
}

function describeLost({ from, to }: { readonly from: number; readonly to: number }, consequence: string): string[] {
  return [
    `Lost: events first sent from ${timeText(from)} to ${timeText(to)} ${consequence}.`,
    "To recover it, replay the deliveries of that time in the upstream's dashboard; duplicates are ignored. To see " +
      'which trades are missing, reconcile that time. Then run onchain-inbox doctor --acknowledge.',
  ]
}

function describeArrivals({ arrived, arrivedLost, lost, lastArrivalAt }: GapRecord): string[] {
  if (arrived === 0) return []
  const last = lastArrivalAt === null ? '' : `, the last at ${timeText(lastArrivalAt)}`
  const ofLost = lost === null ? '' : `; ${arrivedLost} of them from the lost time`
  return [`${countText(arrived, 'event')} created in that time arrived since${last}${ofLost}.`]
}
