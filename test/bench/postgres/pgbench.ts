import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ask } from '../../support/postgres.ts'

const run = promisify(execFile)

export interface LimitOptions {
  /** Of a database with the product's schema. */
  readonly url: string
  /** So many events are inserted by one transaction: as many as the product's had. */
  readonly batch: number
  /** Each with a run. */
  readonly withRuns: boolean
  readonly seconds: number
  /** A folder for the script. */
  readonly work: string
}

/** Events a second that the database takes. */
export interface Limit {
  /** Of as many clients as were the fastest. */
  readonly perSecond: number
  /** One transaction after the other. */
  readonly inTurn: number
}

const clientCounts = [1, 2, 4]

/**
 * The database's own limit: pgbench inserting the same rows as the product, into tables like the product's, in transactions as large. The
 * database makes the rows itself; nothing is sent, looked up, ordered or counted.
 */
export async function measureLimit({ url, batch, withRuns, seconds, work }: LimitOptions): Promise<Limit> {
  await ask(url, 'DROP SCHEMA IF EXISTS bench CASCADE')
  for (const statement of tables) await ask(url, statement)
  const file = join(work, 'limit.sql')
  await writeFile(file, script(batch, withRuns))
  const measured: number[] = []
  for (const clients of clientCounts) {
    const flags = [
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${clients}`,
      `--time=${seconds}`,
      `--file=${file}`,
      url,
    ]
    const { stdout } = await run('pgbench', flags)
    const transactions = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1])
    measured.push(transactions * batch)
  }
  return { perSecond: Math.max(...measured), inTurn: measured[0] ?? NaN }
}

const tables = [
  'CREATE SCHEMA bench',
  'CREATE SEQUENCE bench.batch',
  ...['event', 'body', 'run'].map((name) => `CREATE TABLE bench.${name} (LIKE inbox.${name} INCLUDING ALL)`),
]

function script(batch: number, withRuns: boolean): string {
  const made = `made AS MATERIALIZED (
      SELECT b.nth * ${batch} + n AS seq, lpad((b.nth * ${batch} + n)::text, 20, '0') AS text
      FROM (SELECT nextval('bench.batch') AS nth) b CROSS JOIN generate_series(1, ${batch}) n
    )`
  const events = `INSERT INTO bench.event (seq, id, type, created_at, received_at, key, secret_label, stored_ms)
    SELECT seq, 'evt_bench-' || text, 'wallet.large_trade', '2026-01-01T00:00:00.000Z', 1767225600000,
      'ethereum:0x' || text || text, 'bench', 1 FROM made`
  const bodies = `INSERT INTO bench.body (seq, total, raw) SELECT seq, seq * 500, convert_to(repeat(text, 25), 'UTF8') FROM made`
  const runs = `INSERT INTO bench.run (id, event_seq, handler_id, replay_id, key, state, run_at)
    SELECT seq, seq, 1, 0, 'ethereum:0x' || text || text, 1, 1767225600000 FROM made`
  const [last, ...others] = withRuns ? [runs, events, bodies] : [bodies, events]
  return `WITH ${[made, ...others.map((insert, n) => `i${n} AS (${insert})`)].join(', ')} ${last};\n`
}
