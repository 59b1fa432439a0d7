import { describeGap } from '../gap-report.ts'
import type { Finding, ProcessFacts, StoredFacts, Before } from '../facts.ts'
import { countText, timeText } from '../words.ts'

/** Of the reserve: below so many times of it is time to look, above so many it is over. */
const low = { on: 4, off: 5 }
const mostGaps = 10

/** Whether it can store, and has what it stored. */
export function findStoreWarnings(facts: ProcessFacts, before: Before): Finding[] {
  return [unwritable(facts), lowDisk(facts, before)]
}

function unwritable({ store }: ProcessFacts): Finding {
  if (store.ok || store.full === true) return null
  return {
    code: 'store_unwritable',
    level: 'critical',
    title: 'Nothing can be stored: deliveries are refused',
    text:
      'Commits fail, so every delivery is answered 503 and comes again later. The log says what failed. Look at the disk and at the ' +
      'rights of the folder of the database. If the process does not come back by itself, start it anew.',
    href: '/health',
  }
}

function lowDisk({ store, freeBytes, reserveBytes }: ProcessFacts, before: Before): Finding {
  const isFull = !store.ok && store.full === true
  const isOn = before.since('disk_low') !== null
  if (!isFull && (freeBytes === null || freeBytes >= (isOn ? low.off : low.on) * reserveBytes)) return null
  const left = freeBytes === null ? '' : `: ${Math.floor(freeBytes / 1024 ** 2)} MB are free`
  return {
    code: 'disk_low',
    level: isFull ? 'critical' : 'warning',
    title: isFull ? 'The disk is full: deliveries are refused' : `The disk of the database will soon be full${left}`,
    text:
      `Below ${Math.floor(reserveBytes / 1024 ** 2)} MB (INBOX_DISK_RESERVE) deliveries are answered 503 until there is space again. Free some, ` +
      'keep bodies for a shorter time (INBOX_RETENTION_DAYS, INBOX_RETENTION_BYTES), or run onchain-inbox prune.',
    href: '/health',
  }
}

/** What is known to be gone. */
export function findLossWarnings({ stats, gaps }: StoredFacts): Finding[] {
  const missing: Finding[] =
    stats.missingSeqs === 0
      ? []
      : [
          {
            code: 'missing_events',
            level: 'critical',
            title: `${countText(stats.missingSeqs, 'accepted event is', 'accepted events are')} missing from the database`,
            text:
              'It was damaged, or replaced by an older copy. Restore the newest backup, or replay the deliveries of that time in the ' +
              "service's dashboard. Then acknowledge it: onchain-inbox doctor --acknowledge.",
            href: '/health',
          },
        ]
  const lost = gaps.filter((gap) => gap.lost !== null && gap.acknowledgedAt === null).slice(0, mostGaps)
  return [
    ...missing,
    ...lost.map((gap): Finding => ({
      code: 'gap_lost',
      subject: timeText(gap.from),
      level: 'critical',
      title: `Events were lost: out of service from ${timeText(gap.from)} to ${timeText(gap.to)}`,
      text: describeGap(gap).join('\n'),
      href: '/health',
    })),
  ]
}
