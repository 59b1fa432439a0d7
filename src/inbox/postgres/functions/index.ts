import { createHash } from 'node:crypto'
import type { Rows } from '../database.ts'
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

/**
 * Replaces all functions of the schema. Call after all migrations, in their transaction. Replicas of the previous version may still call
 * them during a rolling upgrade: so types of parameters and names of results stay, or a migration excludes these replicas.
 */
export async function installFunctions(trx: Rows): Promise<void> {
  const installed = await trx.query<{ name: string }>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'inbox'::regnamespace`,
  )
  for (const { name } of installed) await trx.query(`DROP FUNCTION ${name}`)
  for (const statement of functions) await trx.query(statement)
  await trx.query(
    `INSERT INTO inbox.meta (name, value) VALUES ($1, extract(epoch FROM clock_timestamp()) * 1000) ON CONFLICT (name) DO NOTHING`,
    [functionsMark],
  )
}
