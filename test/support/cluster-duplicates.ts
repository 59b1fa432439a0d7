import type { Finding } from './checks.ts'
import type { ClusterFound } from './cluster-ledger.ts'
import type { PassedRequest } from './cluster-mirror.ts'
import { isAcknowledged, type RecordedRequest } from './history.ts'

/** One time that an event was sent. */
type Sent = Pick<RecordedRequest | PassedRequest, 'id' | 'answer'> & Partial<Pick<PassedRequest, 'became'>>

/**
 * P3 of deliveries that came several times: one of them is the event, the others are its redeliveries, whichever replicas they reached.
 * What was not answered may have been counted, or not.
 */
export function checkDuplicates(sent: readonly Sent[], { stored, redelivered, conflicts }: ClusterFound): Finding[] {
  const isStored = new Set(stored.map(({ id }) => id))
  const findings: Finding[] = conflicts.map((id) => ({ property: 'P3', what: `${id} is told to have had other bytes` }))
  for (const [id, times] of Map.groupBy(sent, (one) => one.id)) {
    if (!isStored.has(id)) continue
    const accepted = times.filter(({ became }) => became === 'accepted').length
    if (accepted > 1) findings.push({ property: 'P3', what: `${id} was accepted by ${accepted} replicas` })
    const least = times.filter((one) => isAcknowledged(one)).length - 1
    const most = times.length - 1
    const found = redelivered.get(id) ?? 0
    if (found < least || found > most)
      findings.push({ property: 'P3', what: `${id} has ${found} redeliveries, expected ${least} to ${most}` })
  }
  return findings.slice(0, 10)
}

/** How many events were acknowledged by more than one replica. */
export function countShared(passed: readonly PassedRequest[]): number {
  const byId = Map.groupBy(
    passed.filter((one) => isAcknowledged(one)),
    ({ id }) => id,
  )
  return [...byId.values()].filter((times) => new Set(times.map(({ port }) => port)).size > 1).length
}
