import { createHash } from 'node:crypto'
import type { DriftKind } from '../drift.ts'
import type { Finding, ProcessFacts, StoredFacts } from '../facts.ts'
import type { Silence } from '../port.ts'
import { lengthText, timeText } from '../words.ts'

const newsMs = 24 * 3_600_000
const mostSilences = 20
const mostDrifts = 20
const longestSubject = 200

/** What comes, what does not, and what is odd about it. */
export function findArrivalWarnings(facts: ProcessFacts, stored: StoredFacts): Finding[] {
  return [...silences(stored), ...drifts(facts), conflicts(facts, stored)]
}

/** Of too many those that have been silent longest: which these are does not change while they are. */
function silences({ silences: all }: StoredFacts): Finding[] {
  const overdueMs = ({ silentMs, alarmAfterMs }: Silence) => silentMs - alarmAfterMs
  return all
    .filter(({ state }) => state === 'silent')
    .toSorted((a, b) => overdueMs(b) - overdueMs(a))
    .slice(0, mostSilences)
    .map(({ type, network, silentMs, usualMs, lastAt }) => ({
      code: 'silence',
      subject: subjectOf(network === null ? type : `${type} on ${network}`),
      level: 'warning',
      title: `A type of event has not come for ${lengthText(silentMs)}; usually it comes within ${lengthText(usualMs)}`,
      text:
        `The last one came at ${timeText(lastAt)}; times in which this receiver was out of service are not counted. Nothing may have happened, or ` +
        'the sender has a fault, the webhook was disabled or deleted, or no longer has this type. Look at the webhook in the dashboard ' +
        'of the service (onchain-inbox webhooks list), and at its delivery log.',
      href: '/health',
    }))
}

const driftTitles: Readonly<Record<DriftKind, string>> = {
  unknown_type: 'Events of a type that is not documented have come',
  new_field: 'Events have a field that is not documented',
  missing_field: 'Events lack a documented field',
  wrong_type: 'A field of events is of another type than documented',
  out_of_range: 'A field of events has a value out of its documented range',
}

/** The service may add types and fields at any time (R125, R127): that is no fault. */
const harmless: ReadonlySet<DriftKind> = new Set<DriftKind>(['unknown_type', 'new_field'])

/** Only the first of a kind is news. Of too many those that are a fault, then the oldest: which these are does not change by what comes. */
function drifts({ now, drift }: ProcessFacts): Finding[] {
  return drift
    .filter(({ firstAt }) => now - firstAt < newsMs)
    .toSorted((a, b) => Number(harmless.has(a.kind)) - Number(harmless.has(b.kind)) || a.firstAt - b.firstAt)
    .slice(0, mostDrifts)
    .map(({ kind, type, path, firstAt }) => ({
      code: 'drift',
      subject: subjectOf([kind, type, path].filter((part) => part !== '').join(' ')),
      level: harmless.has(kind) ? 'info' : 'warning',
      title: driftTitles[kind],
      text:
        `First at ${timeText(firstAt)}. ` +
        (harmless.has(kind)
          ? 'Nothing breaks by it: such events are stored and handled like others. A newer version may know more about them.'
          : 'Handlers that rely on the documentation may fail on such events, or take them for something else. The page of drift shows an ' +
            'example with what is documented.'),
      href: '/drift',
    }))
}

function conflicts({ now }: ProcessFacts, { newestConflictAt }: StoredFacts): Finding {
  if (newestConflictAt === null || now - newestConflictAt >= newsMs) return null
  return {
    code: 'conflicts',
    level: 'warning',
    title: 'An event came again under its id with another body',
    text:
      'The first body is kept and was handled; the other one is not. An id stands for one event, so the sender has a fault, or ' +
      'somebody who knows a secret forges events. The page of conflicts shows both bodies.',
    href: '/conflicts',
  }
}

/** What is too long for a subject is told apart by a hash. */
function subjectOf(text: string): string {
  if (text.length <= longestSubject) return text
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return `${text.slice(0, longestSubject).toWellFormed()}… ${hash}`
}
