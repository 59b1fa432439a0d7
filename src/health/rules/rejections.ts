import type { Before, Found, ProcessFacts } from '../facts.ts'
import { ladderText } from '../gap-report.ts'
import { rejections, type Rejection } from '../meter.ts'
import { countText } from '../words.ts'

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
export function findRejectionWarnings({ rejections: counts, lately }: ProcessFacts, before: Before): Found[] {
  const all = [...rejections.map((reason) => [reason, counts[reason]] as const), ['unusable', lately.unusable] as const]
  const total = all.reduce((sum, [, count]) => sum + count, 0)
  if (total < (before.since('deliveries_rejected') === null ? least : 1)) return []
  const reasons = all
    .filter(([, count]) => count > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count} ${count === 1 ? 'was' : 'were'} ${whatToDo[reason]}`)
  return [
    {
      code: 'deliveries_rejected',
      subject: '',
      level: 'warning',
      title: `${countText(total, 'request that may be a delivery was', 'requests that may be deliveries were')} refused for good in the last five minutes`,
      text:
        `${reasons.join(' ')} If they are of the sender, each has failed for it. ${ladderText} The page of rejects shows where they come ` +
        'from: of a source that you do not know, there is nothing to mend.',
      href: '/rejects',
    },
  ]
}
