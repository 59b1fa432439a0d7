import type { Before, Finding, ProcessFacts } from '../facts.ts'
import { ladderText } from '../gap-report.ts'
import { ackBudgetMs, rejections, type Rejection } from '../meter.ts'
import { countText, lengthText, listText, percentText } from '../words.ts'
import type { SenderMeter } from '../port.ts'

/** Fewer deliveries say nothing about a rate. */
const fewest = 20
const slow = { on: 2_500, off: 2_000, critical: 4_000, criticalOff: 3_500 }
const failing = { on: 0.95, off: 0.98, critical: 0.5 }
const refusing = { least: 3, share: 0.01, critical: 0.5 }
const mismatching = { on: 20, off: 5 }
const deaf = 3

/** How deliveries are answered, as the sender sees it: any 2xx within 5 s is a success (R43, R44, R79). */
export function findSenderWarnings(facts: ProcessFacts, before: Before): Finding[] {
  return [refused(facts, before), slowAcks(facts, before), failures(facts, before), mismatches(facts, before)]
}

/** It ends when none was refused for five minutes. */
function refused({ lately }: ProcessFacts, before: Before): Finding {
  const { refused: count, deliveries } = lately
  const isOn = before.since('deliveries_refused') !== null
  if (isOn ? count === 0 : count < refusing.least || count < refusing.share * deliveries) return null
  return {
    code: 'deliveries_refused',
    level: count >= refusing.critical * deliveries ? 'critical' : 'warning',
    title: `${countText(count, 'delivery was', 'deliveries were')} refused with 503 in the last five minutes`,
    text:
      `${percentText(count / deliveries)} of the deliveries of the last five minutes were not taken. ${ladderText} Nothing is lost as ` +
      'long as one of these attempts is taken. The log says why they were refused (overloaded, not_committed_in_time, store_full, ' +
      'store_unavailable): give it a faster disk, more space or fewer connections at once.',
    href: '/health',
  }
}

function slowAcks({ lately }: ProcessFacts, before: Before): Finding {
  const { p99Ms, deliveries } = lately
  const isOn = before.since('ack_slow') !== null
  if (p99Ms === null || (deliveries < fewest && !isOn) || p99Ms <= (isOn ? slow.off : slow.on)) return null
  const isCritical = p99Ms > (before.level('ack_slow') === 'critical' ? slow.criticalOff : slow.critical)
  return {
    code: 'ack_slow',
    level: isCritical ? 'critical' : 'warning',
    title: `One in a hundred deliveries is answered after ${lengthOf(p99Ms)} of the ${lengthText(ackBudgetMs)} that the sender waits`,
    text:
      `The sender waits ${lengthText(ackBudgetMs)} for an answer; one that comes later counts as failed, though the event is stored. An ` +
      'answer waits for the durable commit and for nothing else, so the disk is slow or shared (look at it with onchain-inbox ' +
      'doctor), or the machine has too little CPU.',
    href: '/health',
  }
}

const lengthOf = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

function failures({ lastHour }: ProcessFacts, before: Before): Finding {
  const { successRate, deliveries, refused: refusals, late, unusable } = lastHour
  const isOn = before.since('success_rate') !== null
  if (successRate === null || (deliveries < fewest && !isOn)) return null
  if (successRate >= (isOn ? failing.off : failing.on)) return null
  const parts = [
    `${refusals} were refused`,
    `${late} were answered too late`,
    ...(unusable === 0 ? [] : [`${unusable} were no usable event and answered 422`]),
  ]
  return {
    code: 'success_rate',
    level: successRate < failing.critical ? 'critical' : 'warning',
    title: `${percentText(1 - successRate)} of the deliveries of the last hour have failed for the sender`,
    text:
      `Of ${countText(deliveries, 'delivery', 'deliveries')}, ${listText(parts)}. ${ladderText} So far all of it comes again: there are ` +
      'hours to mend this before the first event is lost. Look at deliveries_refused, deliveries_rejected and ack_slow.',
    href: '/health',
  }
}

function mismatches({ mismatches: lately, mismatchesLastHour, lastHour }: ProcessFacts, before: Before): Finding {
  const isOn = before.since('rejects_burst') !== null
  // Between two attempts of the sender may lie half an hour.
  const isDeaf = authenticIn(lastHour) === 0 && mismatchesLastHour >= (isOn ? 1 : deaf)
  if (!isDeaf && lately < (isOn ? mismatching.off : mismatching.on)) return null
  const count = countText(isDeaf ? mismatchesLastHour : lately, 'request')
  return {
    code: 'rejects_burst',
    level: isDeaf ? 'critical' : 'warning',
    title: `In the last ${isDeaf ? 'hour' : 'five minutes'} ${count} came with a signature by a secret that is not ours`,
    text: isDeaf
      ? 'No delivery was taken in that time: the secret of this receiver is most likely not the one that the sender signs with. ' +
        `Compare them; while one takes the place of another, both can be set (INBOX_SECRETS). ${ladderText}`
      : 'Others are taken, so either one of several endpoints signs with another secret, or somebody tries to forge events. The page of ' +
        'rejects shows where they come from.',
    href: '/rejects',
  }
}

/** How many deliveries were signed with one of our secrets for certain: what was refused with 503 may not have been looked at. */
export const authenticIn = ({ acknowledged, late, unusable }: SenderMeter): number => acknowledged + late + unusable

const least = 3

const whatToDo: Readonly<Record<Rejection | 'unusable', string>> = {
  body_too_large: 'larger than INBOX_BODY_LIMIT (413): raise it if the sender has such bodies.',
  content_encoding_unsupported:
    'compressed (415): have the proxy before this program pass bodies on as they were sent, for they are signed like that.',
  bad_request: 'no proper HTTP (400): a proxy rewrites requests badly, or cuts bodies short.',
  body_incomplete:
    'never complete, broken off or too slow (408): look at the network, and at the limits of time and size of the proxy before this program.',
  unusable:
    'authentic, but no usable event (422, since INBOX_UNUSABLE_STATUS says so): look at the quarantine. With 200 they do not come again.',
}

/** What the sender may have sent, and was told that it failed, though this receiver is well. It ends when there was none for five minutes. */
export function findRejectionWarning({ rejections: counts, lately }: ProcessFacts, before: Before): Finding {
  const all = [...rejections.map((reason) => [reason, counts[reason]] as const), ['unusable', lately.unusable] as const]
  const total = all.reduce((sum, [, count]) => sum + count, 0)
  if (total < (before.since('deliveries_rejected') === null ? least : 1)) return null
  const reasons = all
    .filter(([, count]) => count > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count} ${count === 1 ? 'was' : 'were'} ${whatToDo[reason]}`)
  return {
    code: 'deliveries_rejected',
    level: 'warning',
    title: `${countText(total, 'request that may be a delivery was', 'requests that may be deliveries were')} refused for good in the last five minutes`,
    text:
      `${reasons.join(' ')} If they are of the sender, each has failed for it. ${ladderText} The page of rejects shows where they come ` +
      'from: of a source that you do not know, there is nothing to mend.',
    href: '/rejects',
  }
}
