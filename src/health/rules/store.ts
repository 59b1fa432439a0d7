import { defaultSource, type GapRecord } from '../../inbox/port.ts'
import { describeSchedule, outlookOf, type Sender } from '../senders.ts'
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
  const open = gaps.filter(({ acknowledgedAt }) => acknowledgedAt === null)
  const lost = open.map((gap) => lostEvents(gap, gaps, senders)).filter((finding) => finding !== null)
  return [...missing, ...lost.slice(0, maxGaps)]
}

/** Null: each sender retried its events after the downtime. `gaps`: all downtimes. */
function lostEvents(gap: GapRecord, gaps: readonly GapRecord[], senders: readonly Sender[]): Finding {
  const { from, to, kind, arrivedLost } = gap
  const lost = senders.flatMap((sender) => {
    const span = outlookOf(sender, gap, gaps)?.lost ?? null
    if (span === null) return []
    const events = `Events${sender.source === defaultSource ? '' : ` of source ${sender.source}`} first sent from`
    const why = kind === 'restored' ? 'The backup lacks them, and they were acknowledged.' : describeSchedule(sender)
    return [`${events} ${timeText(span.from)} to ${timeText(span.to)} are lost. ${why}`]
  })
  if (lost.length === 0) return null
  return {
    code: 'gap_lost',
    subject: timeText(from),
    level: 'critical',
    title: `Events were lost: out of service from ${timeText(from)} to ${timeText(to)}`,
    text: [
      ...lost,
      ...(arrivedLost === 0 ? [] : [`${countText(arrivedLost, 'event')} of that time arrived since.`]),
      "Replay the deliveries of that time in the upstream's dashboard; duplicates are ignored. To see which trades are " +
        'missing, reconcile that time. Then run onchain-inbox doctor --acknowledge.',
    ].join('\n'),
    href: '/deliveries',
  }
}
