import { decodeCursor, encodeCursor } from '../../cursor.ts'
import { listedBytes, type QuarantinedBody, type QuarantineGroup, type ViewPort } from '../../port.ts'
import { addToGroups } from '../../quarantine-groups.ts'
import type { Rows } from '../database.ts'
import { fromStored, toStored } from '../text.ts'

interface QuarantineRow extends QuarantinedBody {
  readonly seq: number
}

interface GroupRow extends QuarantineGroup {
  /** How many were summed up in all, and the last of them. */
  readonly looked: number
  readonly lastReason: string
  readonly lastSeq: number
}

const bodiesPerStatement = 5_000

const columns = `seq, id, reason, received_at AS "receivedAt", secret_label AS "secretLabel", count, length(raw) AS "sizeBytes"`
const listed = `SELECT ${columns}, substring(raw FROM 1 FOR ${listedBytes}) AS raw FROM inbox.quarantine`
const below = `${listed} WHERE seq < $1::bigint ORDER BY seq DESC LIMIT $2::bigint`
const belowOfReason = `${listed} WHERE reason = $3 AND seq < $1::bigint ORDER BY reason DESC, seq DESC LIMIT $2::bigint`
const byId = `SELECT ${columns}, raw FROM inbox.quarantine WHERE id = $1`
const groupsBehind = `WITH looked AS MATERIALIZED (
    SELECT reason, seq, secret_label, received_at, length(raw) AS size FROM inbox.quarantine
    WHERE (reason, seq) > ($1, $2::bigint) ORDER BY reason, seq LIMIT ${bodiesPerStatement}
  ), place AS (SELECT reason, seq FROM looked ORDER BY reason DESC, seq DESC LIMIT 1)
  SELECT l.reason, l.secret_label AS "secretLabel", count(*) AS count, sum(l.size) AS "sizeBytes",
    min(l.received_at) AS "firstAt", max(l.received_at) AS "lastAt",
    (SELECT count(*) FROM looked) AS looked, (SELECT p.reason FROM place p) AS "lastReason", (SELECT p.seq FROM place p) AS "lastSeq"
  FROM looked l GROUP BY l.reason, l.secret_label`

/** Views of the quarantine. Those by reason are answered by an index. */
export function createQuarantineViews(db: Rows): Pick<ViewPort, 'quarantine' | 'quarantined' | 'quarantineGroups'> {
  return {
    async quarantine({ limit, cursor, reason }) {
      const place = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor)
      const rows = await (reason === undefined
        ? db.query<QuarantineRow>(below, [place, limit + 1])
        : db.query<QuarantineRow>(belowOfReason, [place, limit + 1, toStored(reason)]))
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return {
        data: rows.slice(0, limit).map(toQuarantinedBody),
        nextCursor: last === undefined ? null : encodeCursor(last.seq),
      }
    },
    async quarantined(id) {
      const [row] = await db.query<QuarantineRow>(byId, [toStored(id)])
      return row === undefined ? null : toQuarantinedBody(row)
    },
    /** Sums up all of it, part after part. */
    async quarantineGroups() {
      const groups = new Map<string, QuarantineGroup>()
      let place: readonly [reason: string, seq: number] | null = ['', 0]
      while (place !== null) {
        const rows: GroupRow[] = await db.query<GroupRow>(groupsBehind, place)
        for (const { reason, secretLabel, count, sizeBytes, firstAt, lastAt } of rows) {
          addToGroups(groups, { reason, secretLabel, count, sizeBytes, firstAt, lastAt })
        }
        const [first] = rows
        place = first?.looked === bodiesPerStatement ? [first.lastReason, first.lastSeq] : null
      }
      return [...groups.values()]
        .map((group) => ({
          ...group,
          reason: fromStored(group.reason),
          secretLabel: fromStored(group.secretLabel),
        }))
        .toSorted((a, b) => b.count - a.count || b.lastAt - a.lastAt)
    },
  }
}

function toQuarantinedBody({
  id,
  reason,
  receivedAt,
  secretLabel,
  sizeBytes,
  count,
  raw,
}: QuarantineRow): QuarantinedBody {
  const [label, why] = [fromStored(secretLabel), fromStored(reason)]
  return { id: fromStored(id), reason: why, receivedAt, secretLabel: label, sizeBytes, count, raw }
}
