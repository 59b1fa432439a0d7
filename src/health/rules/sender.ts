import { defaultSource } from '../../inbox/port.ts'
import type { Previous, Finding, ProcessFacts, SenderFacts } from '../facts.ts'
import { rejections, type Rejection, type SenderMeter } from '../meter.ts'
import { describeSchedule, isFinal } from '../senders.ts'
import { countText, lengthText, listText, percentText } from '../words.ts'

/** Minimum deliveries for a warning about a rate. */
const minDeliveries = 20
/** Thresholds where a warning begins (`on`), ends (`off`), and becomes critical. For slow responses they are shares of the sender's limit. */
const slow = { on: 0.5, off: 0.4, critical: 0.8, criticalOff: 0.7 }
const lowRate = { on: 0.95, off: 0.98, critical: 0.5 }
const refusing = { minCount: 3, share: 0.01, critical: 0.5 }
const mismatching = { on: 20, off: 5 }
/** Minimum mismatches for a critical warning in an hour without an authentic delivery. */
const minMismatches = 3
/** Minimum signatures in a minute for a warning about the clock, and the share that must be old. */
const clockOff = { minCount: 3, share: 0.5 }

type Rule = (facts: SenderFacts, before: Previous) => Finding

/**
 * Warnings about responses to deliveries, for each source by its sender's rules. The sender of the default source counts
 * any 2xx within 5 s as a success (R43, R44, R79).
 */
export function findSenderWarnings({ senders }: ProcessFacts, before: Previous): Finding[] {
  const rules: readonly Rule[] = [refused, slowAcks, failures, mismatches, oldSignatures, rejected]
  return rules.flatMap((rule) => senders.map((facts) => ofSource(rule, facts, before)))
}

/** The subject of a warning is its source, or empty for the default source. */
function ofSource(rule: Rule, facts: SenderFacts, before: Previous): Finding {
  const { source } = facts.sender
  if (source === defaultSource) return rule(facts, before)
  const finding = rule(facts, {
    since: (code) => before.since(code, source),
    level: (code) => before.level(code, source),
  })
  return finding && { ...finding, subject: source, title: `Source ${source}: ${finding.title}` }
}

/** Ends after five minutes without a rejected delivery. */
function refused({ sender, lastMinutes }: SenderFacts, before: Previous): Finding {
  const { refused: count, deliveries } = lastMinutes
  const isOn = before.since('deliveries_refused') !== null
  if (isOn ? count === 0 : count < refusing.minCount || count < refusing.share * deliveries) return null
  return {
    code: 'deliveries_refused',
    level: count >= refusing.critical * deliveries ? 'critical' : 'warning',
    title: `${countText(count, 'delivery was', 'deliveries were')} rejected with 503 in the last five minutes`,
    text:
      `${percentText(count / deliveries)} of the deliveries of the last five minutes were rejected. ${describeSchedule(sender)} Nothing is lost as ` +
      'long as one attempt succeeds. The log has the reason (overloaded, not_committed_in_time, store_full, ' +
      'store_unavailable): provide a faster disk, more space or fewer concurrent connections.',
    href: '/deliveries',
  }
}

function slowAcks({ sender: { ackLimitMs }, lastMinutes }: SenderFacts, before: Previous): Finding {
  const { p99Ms, deliveries } = lastMinutes
  const isOn = before.since('ack_slow') !== null
  if (p99Ms === null || ackLimitMs === null || (deliveries < minDeliveries && !isOn)) return null
  const share = p99Ms / ackLimitMs
  if (share <= (isOn ? slow.off : slow.on)) return null
  const isCritical = share > (before.level('ack_slow') === 'critical' ? slow.criticalOff : slow.critical)
  return {
    code: 'ack_slow',
    level: isCritical ? 'critical' : 'warning',
    title: `Responses take ${lengthOf(p99Ms)} (p99); the sender waits ${lengthText(ackLimitMs)}`,
    text:
      `The sender counts a later response as a failure, even though the event is stored. A ` +
      'response waits only for the durable commit, so the disk is slow or shared (run onchain-inbox ' +
      'doctor to check), or the machine lacks CPU.',
    href: '/deliveries',
  }
}

const lengthOf = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

function failures({ sender, lastHour }: SenderFacts, before: Previous): Finding {
  const { successRate, deliveries, refused: rejected, late, unusable } = lastHour
  const isOn = before.since('success_rate') !== null
  if (successRate === null || (deliveries < minDeliveries && !isOn)) return null
  if (successRate >= (isOn ? lowRate.off : lowRate.on)) return null
  const parts = [
    `${rejected} were rejected`,
    `${late} got a late response`,
    ...(unusable === 0 ? [] : [`${unusable} were not usable events (422)`]),
  ]
  return {
    code: 'success_rate',
    level: successRate < lowRate.critical ? 'critical' : 'warning',
    title: `${percentText(1 - successRate)} of the deliveries of the last hour failed`,
    text:
      `Of ${countText(deliveries, 'delivery', 'deliveries')}, ${listText(parts)}. ${describeSchedule(sender)} ` +
      'Fix this before the last retry of the first event. The warnings about rejected and slow deliveries name the cause.',
    href: '/deliveries',
  }
}

function mismatches(facts: SenderFacts, before: Previous): Finding {
  const { sender, mismatches: recent, mismatchesLastHour, lastHour } = facts
  const isOn = before.since('rejects_burst') !== null
  // Retries of the sender may be half an hour apart.
  const onlyMismatches = authenticIn(lastHour) === 0 && mismatchesLastHour >= (isOn ? 1 : minMismatches)
  if (!onlyMismatches && recent < (isOn ? mismatching.off : mismatching.on)) return null
  const count = countText(onlyMismatches ? mismatchesLastHour : recent, 'request')
  return {
    code: 'rejects_burst',
    level: onlyMismatches ? 'critical' : 'warning',
    title: `In the last ${onlyMismatches ? 'hour' : 'five minutes'} ${count} had no valid signature`,
    text: onlyMismatches
      ? `No delivery was accepted in that time: ${
          sender.source === defaultSource
            ? 'the secret of this receiver'
            : 'the provider, secret or keys of this source'
        } most likely differs from the one of the sender. ` +
        (sender.secretsSetting === null
          ? 'Compare keys.url: each environment has its own keys. '
          : `Compare them; during a rotation set both (${sender.secretsSetting}). `) +
        (sender.source === defaultSource
          ? ''
          : `onchain-inbox verify --source ${sender.source} explains a delivery. `) +
        (isFinal(sender, 401) ? 'The sender does not retry after 401: such events are lost.' : describeSchedule(sender))
      : 'Others are accepted, so either one of several endpoints signs with another secret, or someone tries to forge events. ' +
        'Deliveries › Rejected lists their clients.',
    href: '/deliveries/rejected',
  }
}

/** Senders retry with the time of the first attempt, so single old times are usual. */
function oldSignatures({ sender, signatures: { signed, old } }: SenderFacts): Finding {
  if (signed < clockOff.minCount || old <= clockOff.share * signed) return null
  return {
    code: 'receiver_clock',
    level: sender.rejectsOld ? 'critical' : 'warning',
    title: `${old} of ${signed} valid signatures of the last minute have a time far from this machine's clock`,
    text:
      (sender.rejectsOld ? 'They are rejected. ' : 'They are accepted. ') +
      'Most likely the clock of this receiver is wrong: compare it with NTP (timedatectl). If it is right, the sender ' +
      'retries old deliveries, or someone sends captured ones again.',
    href: '/deliveries',
  }
}

/** Deliveries verified with one of our secrets. Excludes 503: their signature may not have been checked. */
export const authenticIn = ({ acknowledged, late, unusable }: SenderMeter): number => acknowledged + late + unusable

const minRejections = 3

const advice: Readonly<Record<Rejection | 'unusable', string>> = {
  body_too_large: 'larger than INBOX_BODY_LIMIT (413): raise it if the sender sends such bodies.',
  content_encoding_unsupported:
    'compressed (415): configure your proxy to pass bodies on unchanged, because the signature covers the original bytes.',
  bad_request: 'malformed (400): a proxy rewrites requests or truncates bodies.',
  body_incomplete: 'incomplete or too slow (408): check the network, and the time and size limits of your proxy.',
  unusable:
    'authentic, but not a usable event (422, because of INBOX_UNUSABLE_STATUS): see the quarantine. With 200 they are not retried.',
}

/** Permanently rejected requests that may be deliveries, although this receiver is healthy. Ends after five minutes without any. */
function rejected({ sender, rejections: counts, lastMinutes }: SenderFacts, before: Previous): Finding {
  const all = [
    ...rejections.map((reason) => [reason, counts[reason]] as const),
    ['unusable', lastMinutes.unusable] as const,
  ]
  const total = all.reduce((sum, [, count]) => sum + count, 0)
  if (total < (before.since('deliveries_rejected') === null ? minRejections : 1)) return null
  const reasons = all
    .filter(([, count]) => count > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count} ${count === 1 ? 'was' : 'were'} ${advice[reason]}`)
  return {
    code: 'deliveries_rejected',
    level: 'warning',
    title: `${countText(total, 'request that may be a delivery was', 'requests that may be deliveries were')} rejected for good in the last five minutes`,
    text:
      `${reasons.join(' ')} If the sender sent them, it counts each as a failure. ${describeSchedule(sender)} ` +
      'Deliveries › Rejected lists their clients; ignore unknown ones.',
    href: '/deliveries/rejected',
  }
}
