import { sql, type Kysely } from 'kysely'
import { createHash } from 'node:crypto'
import { laneFunction, nowFunction } from '../locks.ts'
import { acceptFunctions } from './accept.ts'
import { claimFunctions } from './claim.ts'
import { settleFunctions } from './settle.ts'

const functions = [nowFunction, laneFunction, ...acceptFunctions, ...claimFunctions, ...settleFunctions]

/**
 * Name of the row in `inbox.meta` that marks this set of functions as installed. A set is installed only once: a set that replaced it is
 * newer.
 */
export const functionsMark = `functions:${createHash('sha256').update(functions.join('\n')).digest('hex')}`

/** Replaces all functions of the schema. Call after all migrations, in their transaction. */
export async function installFunctions(trx: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'inbox'::regnamespace`.execute(trx)
  for (const { name } of rows) await sql.raw(`DROP FUNCTION ${name}`).execute(trx)
  for (const statement of functions) await sql.raw(statement).execute(trx)
  await sql`INSERT INTO inbox.meta (name, value) VALUES (${functionsMark}, extract(epoch FROM clock_timestamp()) * 1000)
    ON CONFLICT (name) DO NOTHING`.execute(trx)
}
