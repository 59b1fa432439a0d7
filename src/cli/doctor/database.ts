import { existsSync, statSync } from 'node:fs'
import type { DatabaseSetting } from '../../config/values.ts'
import { describeDatabase } from '../../base/database-url.ts'
import { messageOf } from '../../base/errors.ts'
import { lookAtSchema } from '../../inbox/postgres/migrate.ts'
import { isInUse, lookAtDatabase, newestSchema } from '../../inbox/sqlite/look.ts'
import { roughBytes } from './disk.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

export interface ExaminedDatabase {
  readonly finding: Finding
  /** Whether a process works on it; null: that cannot be told. */
  readonly isHeld: boolean | null
  /** Whether it can be looked into without a change to it. */
  readonly isReadable: boolean
}

/** What is read through in a second or so. */
const checkedBytes = 256 * 1024 ** 2

/** The database, without a change to it: its schema; of a file also its structure if it is small, and who works on it. */
export async function examineDatabase(database: DatabaseSetting): Promise<ExaminedDatabase> {
  const none = { isHeld: null, isReadable: false }
  if (database.kind === 'postgres') return { ...none, finding: await examinePostgres(database.url) }
  if (database.kind !== 'sqlite') {
    const advice = 'set INBOX_DATABASE_URL=sqlite:/path/inbox.db, unless this is a trial'
    return { ...none, finding: warn('database', 'in memory: the end of the process loses all events', advice) }
  }
  const { file } = database
  if (!existsSync(file)) {
    return { ...none, isHeld: false, finding: ok('database', `there is none at ${file} yet: \`serve\` makes it`) }
  }
  try {
    const { size } = statSync(file)
    const isChecked = size <= checkedBytes
    const look = lookAtDatabase(file, { isChecked })
    const isHeld = isInUse(file)
    const isReadable = look.damage === null && look.schema === newestSchema
    return { isHeld, isReadable, finding: judge(look, { file, size, isChecked, isHeld }) }
  } catch (error) {
    return { ...none, finding: fail('database', messageOf(error), 'name another one in INBOX_DATABASE_URL') }
  }
}

async function examinePostgres(url: string): Promise<Finding> {
  const name = describeDatabase(url)
  try {
    const { server, schema, isOlder } = await lookAtSchema(url)
    const found = `${name} is PostgreSQL ${server}`
    if (schema === null) return ok('database', `${found}, and empty: \`serve\` gives it its schema`)
    if (!isOlder) return ok('database', `${found} and has the schema ${schema}`)
    return warn(
      'database',
      `${found} and has the schema ${schema}: this version needs a newer one`,
      'onchain-inbox migrate, once for all replicas; or INBOX_MIGRATE=auto',
    )
  } catch (error) {
    return fail('database', messageOf(error), 'mend INBOX_DATABASE_URL, or the database')
  }
}

interface Circumstances {
  readonly file: string
  readonly size: number
  readonly isChecked: boolean
  readonly isHeld: boolean
}

function judge({ schema, damage }: ReturnType<typeof lookAtDatabase>, circumstances: Circumstances): Finding {
  const { file, size, isChecked, isHeld } = circumstances
  if (damage !== null) {
    return fail(
      'database',
      `${file} is damaged, or no database of this program: ${damage}`,
      'onchain-inbox restore FILE',
    )
  }
  if (schema !== null && schema > newestSchema) {
    const advice = 'run the newer version, or restore the backup that it made beside the file'
    return fail('database', `${file} was written by a newer version: it has the schema ${schema}`, advice)
  }
  if (schema !== newestSchema) {
    const found = `${file} has the schema ${schema ?? '(none)'}, this version has ${newestSchema}`
    return isHeld
      ? warn(
          'database',
          `${found}: an older version works on it`,
          'give doctor the version of the sidecar, or upgrade that',
        )
      : warn(
          'database',
          found,
          'nothing: `serve` upgrades it, after a copy beside it; or do it now: onchain-inbox migrate',
        )
  }
  const structure = isChecked
    ? 'its structure is well'
    : 'too large to be checked here: onchain-inbox backup checks its copy'
  const holder = isHeld ? 'a process works on it' : 'no process works on it'
  return ok('database', `${file} has the schema ${schema} and ${roughBytes(size)}; ${structure}; ${holder}`)
}
