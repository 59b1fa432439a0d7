import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { reduceHeaders } from '../../reduce-headers.ts'

/**
 * Earlier versions stored headers that may hold secrets: none of them stays in the file. Sets that have become the same keep their
 * ids, because changing events takes long in a large file; so the text is no longer unique.
 */
export const storedHeaders: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const { rows } = await sql<{ id: number; headers: string }>`SELECT id, headers FROM header_set`.execute(db)
    // Overwrites what is deleted, which otherwise stays readable in free pages.
    await sql`PRAGMA secure_delete = ON`.execute(db)
    await sql`DROP TABLE header_set`.execute(db)
    await sql`CREATE TABLE header_set (id INTEGER PRIMARY KEY, headers TEXT NOT NULL) STRICT`.execute(db)
    for (const { id, headers } of rows) {
      await sql`INSERT INTO header_set (id, headers) VALUES (${id}, ${reduceHeaders(headers)})`.execute(db)
    }
    await sql`PRAGMA secure_delete = OFF`.execute(db)
  },
}
