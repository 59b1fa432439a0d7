import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { reduceHeaders } from '../../reduce-headers.ts'

/**
 * Removes headers that earlier versions stored and that may contain secrets. TRUNCATE removes the old rows from the disk. Sets that become
 * equal keep their ids, because changing events is slow in a large table. So the text is no longer unique.
 */
export const storedHeaders: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`LOCK TABLE inbox.header_set IN ACCESS EXCLUSIVE MODE`.execute(db)
    const { rows } = await sql<{ id: number; headers: string }>`SELECT id, headers FROM inbox.header_set`.execute(db)
    await sql`TRUNCATE inbox.header_set`.execute(db)
    await sql`DROP INDEX inbox.header_set_headers`.execute(db)
    await sql`CREATE INDEX header_set_headers ON inbox.header_set (md5(headers))`.execute(db)
    await sql`INSERT INTO inbox.header_set (id, headers) OVERRIDING SYSTEM VALUE
      SELECT * FROM unnest(${rows.map(({ id }) => id)}::integer[], ${rows.map(({ headers }) => reduceHeaders(headers))}::text[])`.execute(
      db,
    )
  },
}
