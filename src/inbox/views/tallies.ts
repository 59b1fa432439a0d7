import { sql } from 'kysely'
import { InboxError } from '../../base/errors.ts'
import { maxWallets, internalLabel, type KnownWallet, type QueryStore } from '../port.ts'
import { partsOfKey } from '../replays.ts'
import { minuteMs } from '../tally.ts'
import { turn, type ViewStore } from './tables.ts'

/** Maximum buckets of one query. */
const maxBuckets = 1_500
/** Events per statement when searching wallets. */
const eventsPerStep = 4_096

/** Reads the counts that accept maintains, and the wallets of stored events. */
export function createTallies({ db }: ViewStore): Pick<QueryStore, 'activity' | 'secretUses' | 'knownWallets'> {
  return {
    async activity({ from, to, bucketMs }) {
      if (!Number.isSafeInteger(bucketMs) || bucketMs < minuteMs || bucketMs % minuteMs !== 0)
        throw new InboxError('bad_request', `bucketMs must be whole minutes (got ${bucketMs})`)
      if (!((to - from) / bucketMs <= maxBuckets))
        throw new InboxError('bad_request', `the range has more than ${maxBuckets} buckets: use longer buckets`)
      const minutes = sql.lit(bucketMs / minuteMs)
      const rows = await db
        .selectFrom('tally')
        .select(({ fn }) => [
          sql<number>`minute / ${minutes} * ${minutes}`.as('begin'),
          'type',
          'network',
          fn.sum<number>('count').as('count'),
        ])
        .where('minute', '>=', Math.floor(from / minuteMs))
        .where('minute', '<', Math.ceil(to / minuteMs))
        .groupBy(['begin', 'type', 'network'])
        .orderBy('begin')
        .orderBy('type')
        .orderBy('network')
        .execute()
      return rows.map(({ begin, type, network, count }) => {
        return { at: begin * minuteMs, type, network: network === '' ? null : network, count: Number(count) }
      })
    },
    secretUses: () =>
      db
        .selectFrom('secret_use')
        .select(['label', 'first_at as firstAt', 'last_at as lastAt', 'count'])
        .where('label', '!=', internalLabel)
        .orderBy('label')
        .execute(),
    async knownWallets() {
      const wallets = new Map<string, KnownWallet>()
      for (let below = Number.MAX_SAFE_INTEGER; wallets.size < maxWallets;) {
        const rows = await db
          .selectFrom('event')
          .select(['seq', 'type', 'key', 'received_at'])
          .where('seq', '<', below)
          .orderBy('seq', 'desc')
          .limit(eventsPerStep)
          .execute()
        for (const { type, key, received_at: lastAt } of rows) {
          const { network, address } = partsOfKey(key)
          if (!type.startsWith('wallet.') || network === null || address === null) continue
          const known = wallets.get(`${network}:${address}`)
          const wallet = { network, address, lastAt: Math.max(lastAt, known?.lastAt ?? lastAt) }
          if (known !== undefined || wallets.size < maxWallets) wallets.set(`${network}:${address}`, wallet)
        }
        const last = rows.at(-1)
        if (last === undefined) break
        below = last.seq
        await turn()
      }
      return [...wallets.values()].toSorted((a, b) => b.lastAt - a.lastAt)
    },
  }
}
