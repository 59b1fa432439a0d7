import type { Clock } from '../../../base/clock.ts'
import { decodeCursor } from '../../cursor.ts'
import type { AuditRecord, ViewPort } from '../../port.ts'
import type { Rows } from '../database.ts'
import type { EventFinder } from '../index/finder.ts'
import { fromStored, fromStoredOrNull, toStored } from '../text.ts'
import { createConflictViews } from './conflicts.ts'
import { createDeadViews } from './dead.ts'
import { createDetailView } from './detail.ts'
import { createEventList } from './event-list.ts'
import { toPage } from './page.ts'
import { createQuarantineViews } from './quarantine.ts'
import { createReplayViews } from './replays.ts'
import { createStats } from './stats.ts'

/** The reads of the port that neither the index nor a job answers. */
export type PostgresViews = Pick<
  ViewPort,
  | 'events'
  | 'event'
  | 'deadLetters'
  | 'deadLetter'
  | 'deadGroups'
  | 'deadRunIds'
  | 'conflicts'
  | 'conflict'
  | 'quarantine'
  | 'quarantined'
  | 'quarantineGroups'
  | 'unknownIds'
  | 'replays'
  | 'replay'
  | 'audit'
  | 'stats'
>

export interface ViewsOptions {
  readonly db: Rows
  /** Tells what of a handler's state has expired. */
  readonly clock: Pick<Clock, 'now'>
  /** How the index finds events; null: they are looked at one by one. */
  readonly find: EventFinder | null
}

const unknownOf = `SELECT g.id FROM unnest($1::text[]) WITH ORDINALITY AS g (id, nth)
  WHERE (SELECT e.seq FROM inbox.event e WHERE e.id = g.id) IS NULL ORDER BY g.nth`
const auditBelow = `SELECT id, at, action, detail, by_whom AS "by" FROM inbox.audit WHERE id < $1::bigint
  ORDER BY id DESC LIMIT $2::bigint`

type AuditRow = Omit<AuditRecord, 'detail'> & { readonly detail: string }

/**
 * The read side of the store: plain statements, each of which reads a bounded number of rows by an index, so that lists stay fast
 * whatever is stored. What stands in two statements may be of two moments.
 */
export function createViews({ db, clock, find }: ViewsOptions): PostgresViews {
  return {
    events: createEventList(db, find),
    ...createDetailView(db, clock),
    ...createDeadViews(db),
    ...createConflictViews(db),
    ...createQuarantineViews(db),
    ...createReplayViews(db),
    async unknownIds(ids) {
      const rows = await db.query<{ id: string }>(unknownOf, [ids.map(toStored)])
      return rows.map(({ id }) => fromStored(id))
    },
    async audit({ limit, cursor }) {
      const place = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor)
      const rows = await db.query<AuditRow>(auditBelow, [place, limit + 1])
      const page = toPage(rows, limit)
      return { ...page, data: page.data.map(toAuditRecord) }
    },
    stats: createStats(db),
  }
}

function toAuditRecord({ detail, by, ...row }: AuditRow): AuditRecord {
  return { ...row, by: fromStoredOrNull(by), detail: JSON.parse(fromStored(detail)) as AuditRecord['detail'] }
}
