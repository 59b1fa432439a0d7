import { bucketOf, checkActivity, mostDrift, mostWallets } from '../../index-limits.ts'
import type { Activity, Cadence, DriftRecord, IndexPort, KnownWallet, SecretUse } from '../../index-port.ts'
import type { Rows } from '../database.ts'
import { fromStored, fromStoredOrNull } from '../text.ts'
import { indexVersion } from './schema.ts'

/** What the index knows by itself. */
export type IndexReads = Pick<IndexPort, 'activity' | 'cadences' | 'drift' | 'secretUses' | 'knownWallets'>

type Counted = Omit<Activity, 'at'> & { readonly minute: number }

/** Of another version it may hold something else. */
const isOurs = `EXISTS (SELECT 1 FROM inbox.index_meta WHERE version = ${indexVersion})`

export function createIndexReads(db: Rows): IndexReads {
  return {
    async activity(query) {
      checkActivity(query)
      const { from, to, bucketMs } = query
      const rows = await db.query<Counted>(
        `SELECT t.minute, k.type, k.network, t.count FROM (
           SELECT minute / $1::bigint * $1::bigint AS minute, kind_id, sum(count)::bigint AS count FROM inbox.index_tally
           WHERE minute >= $2::bigint AND minute < $3::bigint AND ${isOurs} GROUP BY 1, 2
         ) t JOIN inbox.index_kind k ON k.id = t.kind_id`,
        [bucketMs / 60_000, Math.floor(from / 60_000), Math.ceil(to / 60_000)],
      )
      return rows
        .map(({ minute, type, network, count }): Activity => {
          return {
            at: bucketOf(minute * 60_000, bucketMs),
            type: fromStored(type),
            network: fromStoredOrNull(network),
            count,
          }
        })
        .toSorted((a, b) => a.at - b.at || compare(a.type, b.type) || compare(a.network ?? '', b.network ?? ''))
    },
    async cadences() {
      const rows = await db.query<Omit<Cadence, 'gaps'> & { readonly gaps: string }>(
        `SELECT k.type, k.network, c.first_at AS "firstAt", c.last_at AS "lastAt", c.count, c.gaps
         FROM inbox.index_cadence c JOIN inbox.index_kind k ON k.id = c.kind_id WHERE ${isOurs}
         ORDER BY k.type, k.network NULLS FIRST`,
      )
      return rows.map(({ type, network, gaps, ...row }) => {
        return {
          type: fromStored(type),
          network: fromStoredOrNull(network),
          ...row,
          gaps: JSON.parse(gaps) as number[],
        }
      })
    },
    async drift() {
      const rows = await db.query<DriftRecord>(
        `SELECT kind, type, path, expected, example, count, first_at AS "firstAt", last_at AS "lastAt", first_event_id AS "firstEventId"
         FROM inbox.index_drift WHERE ${isOurs} ORDER BY last_at DESC, kind, type, path LIMIT ${mostDrift}`,
      )
      return rows.map(({ type, path, example, firstEventId, ...row }) => {
        const texts = { type: fromStored(type), path: fromStored(path), example: fromStored(example) }
        return { ...row, ...texts, firstEventId: fromStored(firstEventId) }
      })
    },
    async secretUses() {
      const rows = await db.query<SecretUse>(
        `SELECT label, first_at AS "firstAt", last_at AS "lastAt", count FROM inbox.index_secret WHERE ${isOurs} ORDER BY label`,
      )
      return rows.map(({ label, ...row }) => ({ label: fromStored(label), ...row }))
    },
    async knownWallets() {
      const rows = await db.query<KnownWallet>(
        `SELECT network, address, last_at AS "lastAt" FROM inbox.index_wallet WHERE ${isOurs}
         ORDER BY last_at DESC, network, address LIMIT ${mostWallets}`,
      )
      return rows.map(({ network, address, lastAt }) => {
        return { network: fromStored(network), address: fromStored(address), lastAt }
      })
    },
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
