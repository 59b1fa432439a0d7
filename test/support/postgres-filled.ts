import type { Rows } from '../../src/inbox/postgres/database.ts'

/**
 * Fills an empty inbox with events 1 … `events`. Each has a done run of `loose` and a run of `ordered`: a quarter is dead, a third of the
 * others open. PostgreSQL has statistics only from when there were `counted` events.
 */
export async function fillInbox(db: Rows, events: number, counted: number): Promise<void> {
  const tables = await db.query<{ name: string }>(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'inbox'`)
  // Autovacuum would update the statistics.
  for (const { name } of tables) await db.query(`ALTER TABLE inbox.${name} SET (autovacuum_enabled = off)`)
  await db.query(`INSERT INTO inbox.handler (name) VALUES ('ordered'), ('loose')`)
  await fillBetween(db, 1, counted)
  await db.query('ANALYZE')
  await fillBetween(db, counted + 1, events)
}

async function fillBetween(db: Rows, first: number, last: number): Promise<void> {
  const numbers = (share = 1) => `generate_series(${Math.ceil(first * share)}, ${Math.floor(last * share)}) n`
  const statements = [
    `INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label, stored_ms)
     SELECT n, 'e' || n, 'type.' || n % 3, '2026-01-01T00:00:00Z', n, CASE WHEN n % 3 > 0 THEN 'base:' || n / 6 END, 'main', 1
     FROM ${numbers()}`,
    `INSERT INTO inbox.body (seq, total, raw) SELECT n, n * 20, convert_to('{"word":"w' || n || '"}', 'UTF8') FROM ${numbers()}`,
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at, ended_at, error_group, owner, claim_id)
     SELECT 2 * n, n, 1, CASE WHEN n % 30 = 1 THEN 1 + n % 4 ELSE 0 END, CASE WHEN n % 5 > 0 THEN 'k' || n END,
       CASE WHEN n % 4 = 0 THEN 5 WHEN n = 5 THEN 3 WHEN n = 7 THEN 4 WHEN n % 3 = 1 THEN n / 3 % 2 ELSE 6 END, n,
       CASE WHEN n % 4 = 0 OR n = 7 THEN n / 100 END,
       CASE WHEN n % 4 = 0 OR n = 7 THEN CASE WHEN n <= 800 THEN 'Rare: boom' ELSE 'Error: boom' END END,
       CASE WHEN n = 5 THEN 'r o' END, CASE WHEN n = 5 THEN 1 END
     FROM ${numbers()}`,
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at, attempt, started_at, ended_at)
     SELECT 2 * n + 1, n, 2, 0, NULL, 6, n, 1, n, n + 1 FROM ${numbers()}`,
    `INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message)
     SELECT id, 1, ended_at - 1, ended_at, 'dead', 'Error', 'boom' FROM inbox.run
     WHERE state BETWEEN 4 AND 5 AND event_seq BETWEEN ${first} AND ${last}`,
    `INSERT INTO inbox.conflict SELECT n, md5('d' || n) || md5('e' || n), n / 10, 1, 'x' FROM ${numbers(0.25)}`,
    `INSERT INTO inbox.quarantine (id, reason, received_at, secret_label, count, total, raw)
     SELECT 'sha256:' || n, 'reason ' || n % 2, n, 'main', 1, n, convert_to('body ' || n, 'UTF8') FROM ${numbers(0.25)}`,
    `INSERT INTO inbox.redelivery SELECT n, 1, n FROM ${numbers(0.25)}`,
    `INSERT INTO inbox.state SELECT 2, 'key ' || n, '1', (2 * n + 1) * 1024, NULL FROM ${numbers(0.25)}`,
    `INSERT INTO inbox.audit (at, action, detail) SELECT n, 'prune', '{}' FROM ${numbers(0.25)}`,
    `INSERT INTO inbox.replay (filter, new_keys, state, created_at, next_seq, last_seq, events, runs, skipped)
     SELECT '{}', false, 1, n, 1, 1, 0, 0, 0 FROM ${numbers(0.025)}`,
    `UPDATE inbox.counter SET last_seq = ${last}`,
    `SELECT setval('inbox.run_id', ${2 * last + 1})`,
  ]
  for (const statement of statements) await db.query(statement)
}

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Total Cost': number
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Sequential scans of tables with at most this many rows are fine. */
const smallTable = 100

/** Runs a statement. `whole`: tables read by a sequential scan. `rowsRead`: maximum rows read of one table. `cost`: PostgreSQL's estimate. */
export async function explain(
  db: Rows,
  { text, values }: Statement,
): Promise<{ readonly whole: readonly string[]; readonly rowsRead: number; readonly cost: number }> {
  const [row] = await db.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`,
    values,
  )
  const top = row!['QUERY PLAN'][0]!.Plan
  const all = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(all)]
  const scans = all(top).flatMap((node) => {
    const table = node['Relation Name']
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
    const rows = node['Actual Rows'] + removed
    return table === undefined ? [] : [{ table, type: node['Node Type'], rows, allRows: rows * node['Actual Loops'] }]
  })
  return {
    whole: scans.filter(({ type, rows }) => type === 'Seq Scan' && rows > smallTable).map(({ table }) => table),
    rowsRead: Math.max(0, ...scans.map(({ allRows }) => allRows)),
    cost: top['Total Cost'],
  }
}
