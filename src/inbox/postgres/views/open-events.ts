import type { EventStatus } from '../../port.ts'
import type { Rows } from '../database.ts'
import { state } from '../progress.ts'

/** A search by status starts from up to so many events. */
const mostEvents = 5_000

/** In which index the runs stand that an event of a status has one of, and which of them these are. */
interface Place {
  readonly index: string
  readonly order: string
  readonly found: string
  /** So many runs are looked through for them: where the index does not say which event a run is of, fewer. */
  readonly most: number
}

// Ordered as the index is: so it is read from its begin, and nothing but it.
const open = { index: 'state < 5', order: 'handler_id, replay_id, key, id', most: 5_000 }
const claimable = { index: 'state >= 1 AND state <= 2', order: 'state, handler_id, replay_id, run_at, id', most: 5_000 }
const leased = { index: `state = ${state.running}`, order: 'owner, claim_id', most: 5_000 }
const dead = { index: 'state >= 4 AND state <= 5', order: 'ended_at, id', most: 20_000 }

const places: Partial<Record<EventStatus, Place>> = {
  pending: { ...open, found: `state = ${state.waiting} OR (state = ${state.ready} AND attempt = 0)` },
  running: { ...leased, found: 'true' },
  retrying: { ...claimable, found: `state = ${state.suspect} OR attempt > 0` },
  held: { ...dead, found: `state = ${state.held}` },
  dead: { ...dead, found: `state = ${state.dead}` },
}

/** Gives the numbers of events that may be of a status, newest first; null if there is no short way to all of them. */
export function createOpenEvents(db: Rows) {
  return async (status: EventStatus | undefined): Promise<readonly number[] | null> => {
    const place = status === undefined ? undefined : places[status]
    if (place === undefined) return null
    const { index, order, found, most } = place
    const rows = await db.query<{ seq: number | null }>(
      `WITH looked AS MATERIALIZED (
         SELECT event_seq AS seq, (${found}) AS is_found FROM inbox.run WHERE ${index} ORDER BY ${order} LIMIT ${most + 1}
       ), total AS (SELECT count(*) AS runs FROM looked)
       SELECT NULL::bigint AS seq FROM total WHERE runs > ${most}
       UNION ALL
       (SELECT DISTINCT seq FROM looked WHERE is_found AND (SELECT runs FROM total) <= ${most}
        ORDER BY seq DESC LIMIT ${mostEvents + 1})`,
    )
    if (rows.length > mostEvents) return null
    const seqs = rows.map(({ seq }) => seq)
    return seqs.every((seq) => seq !== null) ? seqs : null
  }
}
