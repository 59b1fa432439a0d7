import { warningLevels, type Previous, type FoundWarning, type ProcessFacts, type StoredFacts } from './facts.ts'
import { findArrivalWarnings } from './rules/arrivals.ts'
import { findSenderWarnings } from './rules/sender.ts'
import { findSecretWarnings } from './rules/secrets.ts'
import { findLossWarnings, findStoreWarnings } from './rules/store.ts'
import { findWorkWarnings } from './rules/work.ts'

/** Codes of warnings that need no read of the store. */
export const processCodes: ReadonlySet<string> = new Set([
  'deliveries_refused',
  'ack_slow',
  'success_rate',
  'deliveries_rejected',
  'rejects_burst',
  'receiver_clock',
  'store_unwritable',
  'disk_low',
])

/** Codes of warnings about one process, even if several share the store. All others are about the store. */
export const replicaCodes: ReadonlySet<string> = new Set([...processCodes, 'sink_shut', 'secret_gone_in_use'])

/**
 * Returns the warnings for these facts, most urgent first. `before` holds the previous results, because warnings end at
 * another threshold than they begin. Without `stored`, returns only warnings that need no read of the store. Pure.
 */
export function findWarnings(facts: ProcessFacts, stored: StoredFacts | null, before: Previous): FoundWarning[] {
  const found = [
    ...findStoreWarnings(facts, before),
    ...findSenderWarnings(facts, before),
    ...(stored === null
      ? []
      : [
          ...findLossWarnings(facts, stored),
          ...findWorkWarnings(facts, stored, before),
          ...findArrivalWarnings(facts, stored),
          ...findSecretWarnings(facts, stored, before),
        ]),
  ]
  return found
    .filter((finding) => finding !== null)
    .map(({ code, subject = '', ...rest }): FoundWarning => ({ code, subject, ...rest }))
    .toSorted(byUrgency)
}

/** Sort order: critical first; stable otherwise. */
export function byUrgency(a: Pick<FoundWarning, 'level'>, b: Pick<FoundWarning, 'level'>): number {
  return warningLevels.indexOf(a.level) - warningLevels.indexOf(b.level)
}
