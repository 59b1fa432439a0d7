import type { GapRecord } from '../inbox/port.ts'
import { ladderMs, retryDelaysMs } from '../base/ladder.ts'
import { countText, lengthText, listText, timeText } from './words.ts'

/** The sender waits 5 s for an answer and counts from the failure: by the last attempt that is half a minute at most. */
const slackMs = 30_000

const kinds = {
  stopped: 'it was stopped',
  killed: 'it was killed, or crashed',
  stood_still: 'it stood still, could not write, or its clock was set forward',
} as const

/** What the sender does with a delivery that fails (R81–R86), in a sentence. */
export const ladderText =
  `The sender tries a delivery that failed again ${listText(retryDelaysMs.map(lengthText))} after the failure before, ` +
  `and gives it up when the sixth attempt fails, ${lengthText(ladderMs - slackMs)} after the first.`

/**
 * What a time out of service comes to: when the sender tries again what it tried then, until when to wait, what is lost for good and
 * what to do about that. A sentence or two a line, without anything from outside.
 */
export function describeGap(gap: GapRecord): string[] {
  const { from, to, kind, retriedUntil, lost } = gap
  if (kind === 'restored') {
    return [
      `The database was restored from a backup that knows nothing of the time from ${timeText(from)} to ${timeText(to)}.`,
      'The sender was told that those events had arrived, so it does not send them again.',
      ...(lost === null ? [] : describeLost(lost, 'is gone, or was taken only then, and does not come again')),
      ...describeArrivals(gap),
    ]
  }
  return [
    `Out of service for ${lengthText(to - from)}, from ${timeText(from)} to ${timeText(to)}: ${kinds[kind]}.`,
    ladderText,
    ...describeRungs(gap),
    ...(lost === null ? [] : describeLost(lost, 'was given up by the sender and does not come by itself')),
    ...(retriedUntil === null
      ? []
      : [
          `By ${timeText(retriedUntil)} everything has come that comes by itself${lost === null ? ': nothing is lost' : ''}.`,
        ]),
    ...describeArrivals(gap),
  ]
}

/** By which retry what was first sent in the gap comes: the later it was sent in it, the sooner. */
function describeRungs({ from, to }: GapRecord): string[] {
  let offsetMs = 0
  const lines = retryDelaysMs.flatMap((delayMs, index) => {
    const sentBefore = to - offsetMs
    offsetMs += delayMs
    const sentFrom = Math.max(from, to - offsetMs)
    if (sentFrom >= sentBefore) return []
    const by = timeText(sentBefore + offsetMs + slackMs)
    return [
      `What it first sent from ${timeText(sentFrom)} to ${timeText(sentBefore)} comes with retry ${index + 1}, ${lengthText(delayMs)} after the attempt before, by ${by}.`,
    ]
  })
  return lines
}

function describeLost({ from, to }: { readonly from: number; readonly to: number }, what: string): string[] {
  return [
    `Lost: what was first sent from ${timeText(from)} to ${timeText(to)} ${what}.`,
    "To get it, replay the deliveries of that time in the service's dashboard; what has come already is not stored twice. To see " +
      'which trades are missing, reconcile that time. Then acknowledge it: onchain-inbox doctor --acknowledge.',
  ]
}

function describeArrivals({ arrived, arrivedLost, lost, lastArrivalAt }: GapRecord): string[] {
  if (arrived === 0) return []
  const last = lastArrivalAt === null ? '' : `, the last at ${timeText(lastArrivalAt)}`
  const ofLost = lost === null ? '' : `; ${arrivedLost} of them of the lost time`
  return [`${countText(arrived, 'event')} that had been created in that time came since${last}${ofLost}.`]
}
