import type { GapRecord } from '../../inbox/port.ts'
import { describeGap } from '../gap-report.ts'
import { outlookOf } from '../senders.ts'
import type { Finding, ProcessFacts, StoredFacts, Previous } from '../facts.ts'
import { countText, timeText } from '../words.ts'

/** Multiples of INBOX_DISK_RESERVE: the warning begins below `on` times the reserve and ends at `off` times the reserve. */
const lowSpace = { on: 4, off: 5 }
/** Maximum warnings about gaps. */
const maxGaps = 10

/** Warnings about the store's ability to write. */
export function findStoreWarnings(facts: ProcessFacts, before: Previous): Finding[] {
  return [unwritable(facts), lowDisk(facts, before)]
}

function unwritable({ store }: ProcessFacts): Finding {
  if (store.ok || store.full === true) return null
  return {
    code: 'store_unwritable',
    level: 'critical',
    title: 'The store is not writable: deliveries are rejected',
    text:
      'Commits fail, so every delivery gets 503 and is retried later. The log has the error. Check the disk and the ' +
      'permissions of the database folder. If the process does not recover, restart it.',
    href: '/deliveries',
  }
}

function lowDisk({ store, freeBytes, reserveBytes }: ProcessFacts, before: Previous): Finding {
  const isFull = !store.ok && store.full === true
  const isOn = before.since('disk_low') !== null
  if (!isFull && (freeBytes === null || freeBytes >= (isOn ? lowSpace.off : lowSpace.on) * reserveBytes)) return null
  const left = freeBytes === null ? '' : `: ${Math.floor(freeBytes / 1024 ** 2)} MB are free`
  return {
    code: 'disk_low',
    level: isFull ? 'critical' : 'warning',
    title: isFull ? 'The disk is full: deliveries are rejected' : `The database disk is almost full${left}`,
    text:
      `Below ${Math.floor(reserveBytes / 1024 ** 2)} MB (INBOX_DISK_RESERVE) deliveries get 503 until space is freed. Free some, ` +
      'shorten the retention (INBOX_RETENTION_DAYS, INBOX_RETENTION_BYTES), or run onchain-inbox prune.',
    href: '/deliveries',
  }
}

/** Warnings about lost events. */
export function findLossWarnings({ senders: bySource }: ProcessFacts, { stats, gaps }: StoredFacts): Finding[] {
  const senders = bySource.map(({ sender }) => sender)
  const missing: Finding[] =
    stats.missingSeqs === 0
      ? []
      : [
          {
            code: 'missing_events',
            level: 'critical',
            title: `${countText(stats.missingSeqs, 'accepted event is', 'accepted events are')} missing from the database`,
            text:
              'The database was damaged, or replaced by an older copy. Restore the newest backup, or replay the deliveries of that time in the ' +
              "upstream's dashboard. Then run onchain-inbox doctor --acknowledge.",
            href: '/deliveries',
          },
        ]
  const hasLost = (gap: GapRecord) => senders.some((sender) => (outlookOf(sender, gap, gaps)?.lost ?? null) !== null)
  const lost = gaps.filter((gap) => gap.acknowledgedAt === null && hasLost(gap)).slice(0, maxGaps)
  return [
    ...missing,
    ...lost.map((gap): Finding => ({
      code: 'gap_lost',
      subject: timeText(gap.from),
      level: 'critical',
      title: `Events were lost: out of service from ${timeText(gap.from)} to ${timeText(gap.to)}`,
      text: describeGap(gap, gaps, senders).join('\n'),
      href: '/deliveries',
    })),
  ]
}
