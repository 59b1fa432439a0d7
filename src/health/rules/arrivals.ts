import { createHash } from 'node:crypto'
import type { DriftKind } from '../drift.ts'
import type { Finding, ProcessFacts, StoredFacts } from '../facts.ts'
import type { Silence } from '../silence.ts'
import { lengthText, timeText } from '../words.ts'

/** How long drift and conflicts count as news. */
const newsMs = 24 * 3_600_000
/** Maximum warnings per kind. */
const maxSilences = 20
const maxDrifts = 20
/** Characters. A subject holds names from events, which may be long. */
const maxSubjectLength = 200

/** Warnings about received events: silences, drift and conflicts. */
export function findArrivalWarnings(facts: ProcessFacts, stored: StoredFacts): Finding[] {
  return [...silences(facts, stored), ...drifts(facts), conflicts(facts, stored)]
}

/** Limited to the types that are silent longest. That choice stays stable while they are silent. */
function silences({ senders }: ProcessFacts, { silences: all }: StoredFacts): Finding[] {
  const overdueMs = ({ silentMs, alarmAfterMs }: Silence) => silentMs - alarmAfterMs
  return all
    .filter(({ state }) => state === 'silent')
    .toSorted((a, b) => overdueMs(b) - overdueMs(a))
    .slice(0, maxSilences)
    .map(({ type, network, silentMs, usualMs, lastAt }) => ({
      code: 'silence',
      subject: subjectOf(network === null ? type : `${type} on ${network}`),
      level: 'warning',
      title: `No event of a type for ${lengthText(silentMs)}; usually one arrives within ${lengthText(usualMs)}`,
      text:
        `The last one arrived at ${timeText(lastAt)}; downtime of this receiver is not counted. Either nothing happened, or ` +
        'the sender is faulty, or the webhook was disabled, deleted, or lost this type. Check the webhook ' +
        (senders.some(({ sender: { source } }) => type.startsWith(`${source}/`))
          ? 'at the sender, and its delivery log.'
          : 'in the upstream dashboard (or onchain-inbox webhooks list), and its delivery log.'),
      href: '/deliveries',
    }))
}

const driftTitles: Readonly<Record<DriftKind, string>> = {
  unknown_type: 'Events of an undocumented type',
  new_field: 'Events with an undocumented field',
  missing_field: 'Events without a documented field',
  wrong_type: 'Events with a field of the wrong type',
  out_of_range: 'Events with a field out of its documented range',
}

/** The upstream may add types and fields at any time (R125, R127). */
const harmless: ReadonlySet<DriftKind> = new Set<DriftKind>(['unknown_type', 'new_field'])

/** Only the first event of a kind causes a warning. Limited to faults first, then the oldest. That choice is stable. */
function drifts({ now, drift }: ProcessFacts): Finding[] {
  return drift
    .filter(({ firstAt }) => now - firstAt < newsMs)
    .toSorted((a, b) => Number(harmless.has(a.kind)) - Number(harmless.has(b.kind)) || a.firstAt - b.firstAt)
    .slice(0, maxDrifts)
    .map(({ kind, type, path, firstAt }) => ({
      code: 'drift',
      subject: subjectOf([kind, type, path].filter((part) => part !== '').join(' ')),
      level: harmless.has(kind) ? 'info' : 'warning',
      title: driftTitles[kind],
      text:
        `First at ${timeText(firstAt)}. ` +
        (harmless.has(kind)
          ? 'Harmless: such events are stored and handled like others. A newer version may document them.'
          : 'Handlers that rely on the documentation may fail on such events or misread them. The Drift page shows an ' +
            'example and the documentation.'),
      href: '/deliveries/drift',
    }))
}

function conflicts({ now }: ProcessFacts, { newestConflictAt }: StoredFacts): Finding {
  if (newestConflictAt === null || now - newestConflictAt >= newsMs) return null
  return {
    code: 'conflicts',
    level: 'warning',
    title: 'Two different bodies arrived under one event id',
    text:
      'The first body is kept and was handled; the other was not. Either the sender is faulty, or someone ' +
      'who knows a secret forges events. The Conflicts page shows both bodies.',
    href: '/deliveries/conflicts',
  }
}

/** Replaces the end of a long subject by a hash. */
function subjectOf(text: string): string {
  if (text.length <= maxSubjectLength) return text
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return `${text.slice(0, maxSubjectLength).toWellFormed()}… ${hash}`
}
