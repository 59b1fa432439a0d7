import { reduceHeaders } from '../../reduce-headers.ts'
import type { Rows } from '../database.ts'

/**
 * Removes headers that earlier versions stored and that may contain secrets. TRUNCATE removes the old rows from the disk. Sets that become
 * equal keep their ids, because changing events is slow in a large table. So the text is no longer unique.
 */
export async function reduceStoredHeaders(trx: Rows): Promise<void> {
  await trx.query('LOCK TABLE inbox.header_set IN ACCESS EXCLUSIVE MODE')
  const sets = await trx.query<{ id: number; headers: string }>('SELECT id, headers FROM inbox.header_set')
  await trx.query('TRUNCATE inbox.header_set')
  await trx.query('DROP INDEX inbox.header_set_headers')
  await trx.query('CREATE INDEX header_set_headers ON inbox.header_set (md5(headers))')
  await trx.query(
    `INSERT INTO inbox.header_set (id, headers) OVERRIDING SYSTEM VALUE SELECT * FROM unnest($1::integer[], $2::text[])`,
    [sets.map(({ id }) => id), sets.map(({ headers }) => reduceHeaders(headers))],
  )
}
