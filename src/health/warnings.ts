import type { Before, Found, ProcessFacts, StoredFacts } from './facts.ts'
import { warningLevels } from './port.ts'
import { findArrivalWarnings } from './rules/arrivals.ts'
import { findRejectionWarning, findSenderWarnings } from './rules/sender.ts'
import { findSecretWarnings } from './rules/secrets.ts'
import { findLossWarnings, findStoreWarnings } from './rules/store.ts'
import { findWorkWarnings } from './rules/work.ts'

/** Codes of warnings that are found without the store. */
export const processCodes: ReadonlySet<string> = new Set([
  'deliveries_refused',
  'ack_slow',
  'success_rate',
  'deliveries_rejected',
  'rejects_burst',
  'store_unwritable',
  'disk_low',
])

/** Codes of warnings that are about one process, also where several share the store. The others are about the store. */
export const ownCodes: ReadonlySet<string> = new Set([...processCodes, 'sink_shut', 'secret_gone_in_use'])

/**
 * What the facts give reason to warn of, most urgent first. `before` is what was found the last time: a warning that is on ends at
 * another threshold than the one it began at. Without `stored` only what can be told without the store. Pure.
 */
export function findWarnings(facts: ProcessFacts, stored: StoredFacts | null, before: Before): Found[] {
  const found = [
    ...findStoreWarnings(facts, before),
    ...findSenderWarnings(facts, before),
    findRejectionWarning(facts, before),
    ...(stored === null
      ? []
      : [
          ...findLossWarnings(stored),
          ...findWorkWarnings(facts, stored, before),
          ...findArrivalWarnings(facts, stored),
          ...findSecretWarnings(facts, stored, before),
        ]),
  ]
  return found
    .filter((one) => one !== null)
    .map(({ code, subject = '', ...rest }): Found => ({ code, subject, ...rest }))
    .toSorted(byUrgency)
}

/** For sorting: critical first, then in the order in which they are. */
export function byUrgency(a: Pick<Found, 'level'>, b: Pick<Found, 'level'>): number {
  return warningLevels.indexOf(a.level) - warningLevels.indexOf(b.level)
}
