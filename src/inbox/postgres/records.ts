import type { AuditRecord } from '../port.ts'
import {
  subscriptionStates,
  type SourceKey,
  type SourceKeyPort,
  type Subscription,
  type SubscriptionPort,
  type SubscriptionState,
} from '../types.ts'
import type { Database, Rows } from './database.ts'
import { fromStored, fromStoredOrNull, toStored, toStoredOrNull } from './text.ts'

/** Writes an audit record in the transaction of the audited action, and returns its id. `by`: the caller; undefined for the inbox itself and for commands. */
export async function note(
  trx: Rows,
  action: AuditRecord['action'],
  detail: AuditRecord['detail'],
  by: string | undefined,
): Promise<number> {
  const [row] = await trx.query<{ id: number }>(
    `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES (inbox.now_ms(), $1, $2, $3) RETURNING id`,
    [action, toStored(JSON.stringify(detail)), toStoredOrNull(by ?? null)],
  )
  if (row === undefined) throw new Error('the audit table returned no id')
  return row.id
}

interface SubscriptionRow extends Omit<Subscription, 'events' | 'state'> {
  readonly events: string
  readonly state: number
}

/** Registrations with the upstream, shared by all replicas. Each begin and end writes an audit record. */
export function createSubscriptions(db: Database): SubscriptionPort {
  return {
    subscription: () => newest(db),
    beginSubscription: (next, replaces, by) =>
      db.exclusively(async (trx) => {
        if (((await newest(trx))?.id ?? null) !== replaces) return null
        const events = JSON.stringify(next.events)
        await trx.query(
          `INSERT INTO inbox.subscription (digest, url, events, secret_label, state, at) VALUES ($1, $2, $3, $4, 0, $5)`,
          [...[next.digest, next.url, events, next.secretLabel].map(toStored), next.at],
        )
        const begun = await newest(trx)
        if (begun !== null) await note(trx, 'subscription.begin', { subscription: begun.id, replaces }, by)
        return begun
      }),
    endSubscription: (id, { state, answer }, by) =>
      db.exclusively(async (trx) => {
        const ended = await trx.query(
          `UPDATE inbox.subscription SET state = $1, answer = $2 WHERE id = $3 AND state = 0 RETURNING id`,
          [subscriptionStates.indexOf(state), toStoredOrNull(answer), id],
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
  if (row === undefined) return null
  return {
    ...row,
    digest: fromStored(row.digest),
    url: fromStored(row.url),
    events: JSON.parse(fromStored(row.events)) as readonly string[],
    secretLabel: fromStored(row.secretLabel),
    state: subscriptionStates[row.state] as SubscriptionState,
    answer: fromStoredOrNull(row.answer),
  }
}

/** Fetched public keys, shared by all replicas. */
export function createSourceKeys(db: Database): SourceKeyPort {
  return {
    async sourceKeys(source) {
      const keys = await db.query<SourceKey>('SELECT id, spki FROM inbox.source_key WHERE source = $1', [source])
      return keys.map(({ id, spki }) => ({ id: fromStored(id), spki }))
    },
    storeSourceKeys: (source, keys) =>
      db.exclusively(async (trx) => {
        await trx.query('DELETE FROM inbox.source_key WHERE source = $1', [source])
        await trx.query(
          'INSERT INTO inbox.source_key (source, id, spki) SELECT $1, k.id, k.spki FROM json_to_recordset($2::json) AS k(id text, spki text)',
          [source, JSON.stringify(keys.map(({ id, spki }) => ({ id: toStored(id), spki })))],
        )
      }),
  }
}
