import type { Database } from 'better-sqlite3'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { listedBytes, type Page, type PageQuery, type QuarantinedBody, type QuarantineGroup } from '../port.ts'
import { addToGroups } from '../quarantine-groups.ts'
import { createBudget } from './budget.ts'

interface QuarantineRow {
  readonly seq: number
  readonly id: string
  readonly reason: string
  readonly received_at: number
  readonly secret_label: string
  readonly count: number
  readonly size: number
  readonly raw: Buffer
}

/** Where a part of the sums goes on: behind a body of a reason. */
export type GroupsPlace = readonly [reason: string, seq: number]

export interface GroupsPart {
  readonly groups: readonly QuarantineGroup[]
  /** Null: that was all. */
  readonly after: GroupsPlace | null
}

/** Views of the quarantine. Those by reason are answered by an index, without reading bodies. */
export function createQuarantineViews(db: Database) {
  const listed = `seq, id, reason, received_at, secret_label, count, length(raw) AS size,
     iif(length(raw) > ${listedBytes}, substr(raw, 1, ${listedBytes}), raw) AS raw`
  const below = db.prepare<[number, number], QuarantineRow>(
    `SELECT ${listed} FROM quarantine WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
  )
  const belowOfReason = db.prepare<[string, number, number], QuarantineRow>(
    `SELECT ${listed} FROM quarantine INDEXED BY quarantine_reason WHERE reason = ? AND seq < ?
     ORDER BY seq DESC LIMIT ?`,
  )
  const byId = db.prepare<[string], QuarantineRow>(
    `SELECT seq, id, reason, received_at, secret_label, count, length(raw) AS size, raw FROM quarantine WHERE id = ?`,
  )
  const behind = db.prepare<[string, number], Omit<QuarantineRow, 'id' | 'reason' | 'count' | 'raw'>>(
    `SELECT seq, received_at, secret_label, length(raw) AS size FROM quarantine INDEXED BY quarantine_reason
     WHERE reason = ? AND seq > ? ORDER BY seq`,
  )
  const nextReason = db.prepare<[string], { reason: string }>(
    'SELECT reason FROM quarantine INDEXED BY quarantine_reason WHERE reason > ? ORDER BY reason LIMIT 1',
  )
  return {
    quarantine({ limit, cursor, reason }: PageQuery & { readonly reason?: string }): Page<QuarantinedBody> {
      const place = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor)
      const rows = reason === undefined ? below.all(place, limit + 1) : belowOfReason.all(reason, place, limit + 1)
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return {
        data: rows.slice(0, limit).map(toQuarantinedBody),
        nextCursor: last === undefined ? null : encodeCursor(last.seq),
      }
    },
    quarantined(id: string): QuarantinedBody | null {
      const row = byId.get(id)
      return row === undefined ? null : toQuarantinedBody(row)
    },
    /** The sums of one part of it. */
    quarantineGroups([firstReason, firstSeq]: GroupsPlace): GroupsPart {
      const isEnough = createBudget()
      const groups = new Map<string, QuarantineGroup>()
      let [reason, behindSeq]: [string | undefined, number] = [firstReason, firstSeq]
      while (reason !== undefined) {
        for (const row of behind.iterate(reason, behindSeq)) {
          const { seq, secret_label: secretLabel, size: sizeBytes, received_at: at } = row
          addToGroups(groups, { reason, secretLabel, count: 1, sizeBytes, firstAt: at, lastAt: at })
          if (isEnough()) return { groups: [...groups.values()], after: [reason, seq] }
        }
        reason = nextReason.get(reason)?.reason
        behindSeq = 0
      }
      return { groups: [...groups.values()], after: null }
    },
  }
}

/** Sums up all of it, part after part, so that other views have their turn between them. */
export async function sumQuarantine(part: (after: GroupsPlace) => Promise<GroupsPart>): Promise<QuarantineGroup[]> {
  const groups = new Map<string, QuarantineGroup>()
  for (let after: GroupsPlace | null = ['', 0]; after !== null;) {
    const found: GroupsPart = await part(after)
    for (const group of found.groups) addToGroups(groups, group)
    after = found.after
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count || b.lastAt - a.lastAt)
}

function toQuarantinedBody(row: QuarantineRow): QuarantinedBody {
  const { id, reason, received_at: receivedAt, secret_label: secretLabel, size: sizeBytes, count, raw } = row
  return { id, reason, receivedAt, secretLabel, sizeBytes, count, raw }
}
