import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ask } from '../../support/postgres.ts'

/** Events per second that the database takes: with the fastest number of clients, and with one client. */
export interface Limit {
  readonly perSecond: number
  readonly inTurn: number
}

const clientCounts = [1, 2, 4]
const seconds = 3
const tables = ['event', 'body']

/**
 * The database's own limit: pgbench inserts the product's rows, made by the database, into copies of its tables. Nothing is sent, looked
 * up, ordered or counted. `url`: a database with the product's schema. `batch`: events per transaction. `work`: a folder for the script.
 */
export async function measureLimit(url: string, batch: number, work: string): Promise<Limit> {
  await ask(url, 'CREATE SCHEMA bench')
  await ask(url, 'CREATE SEQUENCE bench.batch')
  for (const name of tables) await ask(url, `CREATE TABLE bench.${name} (LIKE inbox.${name} INCLUDING ALL)`)
  const file = join(work, 'limit.sql')
  await writeFile(
    file,
    `WITH made AS MATERIALIZED (
       SELECT b.nth * ${batch} + n AS seq, lpad((b.nth * ${batch} + n)::text, 20, '0') AS text
       FROM (SELECT nextval('bench.batch') AS nth) b CROSS JOIN generate_series(1, ${batch}) n
     ), bodies AS (
       INSERT INTO bench.body (seq, total, raw) SELECT seq, seq * 500, convert_to(repeat(text, 25), 'UTF8') FROM made
     )
     INSERT INTO bench.event (seq, id, type, created_at, received_at, key, secret_label, stored_ms)
     SELECT seq, 'evt_bench-' || text, 'wallet.large_trade', '2026-01-01T00:00:00.000Z', 1767225600000,
       'ethereum:0x' || text || text, 'bench', 1 FROM made;`.replaceAll('\n', ' '),
  )
  const measured: number[] = []
  for (const clients of clientCounts) {
    const flags = ['--no-vacuum', '--protocol=prepared', `--client=${clients}`, `--time=${seconds}`, `--file=${file}`]
    const { stdout } = await promisify(execFile)('pgbench', [...flags, url])
    measured.push(Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]) * batch)
  }
  return { perSecond: Math.max(...measured), inTurn: measured[0] ?? NaN }
}
