import type { AuditRecord } from '../port.ts'
import {
  subscriptionStates,
  type SourceKey,
  type SourceKeyPort,
  type Subscription,
  type SubscriptionPort,
  type SubscriptionRow,
  toSubscription,
} from '../types.ts'
import type { Database, Rows } from './database.ts'
import { toStoredJson } from './text.ts'
import { InboxError } from '../../base/errors.ts'

/** Writes an audit record in the transaction of the audited action, and returns its id. `by`: the caller; undefined for the inbox itself and for commands. */
export async function note(
  trx: Rows,
  action: AuditRecord['action'],
  detail: AuditRecord['detail'],
  by: string | undefined,
): Promise<number> {
  const [row] = await trx.query<{ id: number }>(
    `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES (inbox.now_ms(), $1, $2, $3) RETURNING id`,
    [action, JSON.stringify(detail), by ?? null],
  )
  if (row === undefined) throw new Error('the audit table returned no id')
  return row.id
}

/** Registrations with the upstream, shared by all replicas. Each begin and end writes an audit record. */
export function createSubscriptions(db: Database): SubscriptionPort {
  return {
    subscription: () => newest(db),
    beginSubscription: (next, replaces, by) =>
      db.exclusively(async (trx) => {
        if (((await newest(trx))?.id ?? null) !== replaces) return null
        await trx.query(
          `INSERT INTO inbox.subscription (digest, url, events, secret_label, state, at) VALUES ($1, $2, $3, $4, 0, $5)`,
          [next.digest, next.url, JSON.stringify(next.events), next.secretLabel, next.at],
        )
        const begun = await newest(trx)
        if (begun !== null) await note(trx, 'subscription.begin', { subscription: begun.id, replaces }, by)
        return begun
      }),
    endSubscription: (id, { state, answer }, by) =>
      db.exclusively(async (trx) => {
        const ended = await trx.query(
          `UPDATE inbox.subscription SET state = $1, answer = $2 WHERE id = $3 AND state = 0 RETURNING id`,
          [subscriptionStates.indexOf(state), answer, id],
        )
        if (ended.length > 0) await note(trx, 'subscription.register', { subscription: id, state }, by)
      }),
  }
}

/** The newest registration that has not failed. */
async function newest(rows: Rows): Promise<Subscription | null> {
  const [row] = await rows.query<SubscriptionRow>(
    `SELECT id, digest, url, events, secret_label AS "secretLabel", state, at, answer FROM inbox.subscription
     WHERE state < 2 ORDER BY id DESC LIMIT 1`,
  )
  return toSubscription(row)
}

/** Fetched public keys, shared by all replicas. */
export function createSourceKeys(db: Database): SourceKeyPort {
  return {
    sourceKeys: (source) => db.query<SourceKey>('SELECT id, spki FROM inbox.source_key WHERE source = $1', [source]),
    storeSourceKeys: (source, keys) =>
      db.exclusively(async (trx) => {
        await trx.query('DELETE FROM inbox.source_key WHERE source = $1', [source])
        await trx.query(
          'INSERT INTO inbox.source_key (source, id, spki) SELECT $1, k.id, k.spki FROM json_to_recordset($2::json) AS k(id text, spki text)',
          [source, toStoredJson(keys)],
        )
      }),
  }
}

/** Stores a value in `inbox.meta`. */
export async function setMeta(rows: Rows, name: string, value: number): Promise<void> {
  await rows.query(
    `INSERT INTO inbox.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [name, value],
  )
}

/** Rows of `inbox.meta` about a move of a SQLite file to this database: its id, start and end. */
export const moveMarks = { id: 'move_id', movingAt: 'moving_at', movedAt: 'moved_at' } as const

/** Throws `store_unavailable` while a file is being moved to the database: events accepted now would conflict with copied ones. */
export async function refuseMoving(db: Rows): Promise<void> {
  const move = await findMove(db)
  if (move !== null) throw move
}

/** Returns an error if a file is being moved to the database, else null. */
export async function findMove(db: Rows): Promise<InboxError | null> {
  const [mark] = await db.query<{ value: number }>('SELECT value FROM inbox.meta WHERE name = $1', [moveMarks.movingAt])
  if (mark === undefined) return null
  return new InboxError(
    'store_unavailable',
    `a SQLite file is being moved to this database since ${new Date(mark.value).toISOString()}: restart when \`onchain-inbox move\` ` +
      'has ended. To resume a stopped move, run the same command again. To abandon it, DROP SCHEMA inbox CASCADE',
  )
}
