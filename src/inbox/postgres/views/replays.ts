import { decodeCursor } from '../../cursor.ts'
import type { ViewPort } from '../../port.ts'
import type { Rows } from '../database.ts'
import { openRunsOf, replayColumns, toReplayRecord, type ReplayRow } from '../replays.ts'
import { toPage } from './page.ts'

type ListedRow = ReplayRow & { readonly openRuns: number }

const below = `SELECT ${replayColumns}, ${openRunsOf('p.id')} AS "openRuns" FROM inbox.replay p
  WHERE p.id < $1::bigint ORDER BY p.id DESC LIMIT $2::bigint`

/** Views of replays. */
export function createReplayViews(db: Rows): Pick<ViewPort, 'replays' | 'replay'> {
  return {
    async replays({ limit, cursor }) {
      const place = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor)
      const rows = await db.query<ListedRow>(below, [place, limit + 1])
      return toPage(
        rows.map(({ openRuns, ...row }) => toReplayRecord(row, openRuns)),
        limit,
      )
    },
    async replay(id) {
      const [row] = await db.query<ListedRow>(below, [id + 1, 1])
      if (row?.id !== id) return null
      const { openRuns, ...record } = row
      return toReplayRecord(record, openRuns)
    },
  }
}
