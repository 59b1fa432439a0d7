import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import type { DatabaseSetting } from '../config/values.ts'
import { describeDatabase } from '../base/database-url.ts'
import { InboxError } from '../base/errors.ts'
import { migrateSchema, type SchemaChange } from '../inbox/postgres/migrate.ts'
import { newestSchema, upgradeDatabase, type Upgrade } from '../inbox/sqlite/look.ts'
import type { OnUpgrade } from '../inbox/types.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { createProgress } from './screen.ts'
import { readDatabaseSetting, withConfigOption, type ConfigOption } from './settings.ts'

interface MigrateOptions extends OutputOptions, ConfigOption {}

/** What `migrate` did; `from` and `backup` as in `Upgrade`. */
interface MigratedFile extends Upgrade {
  readonly file: string
  /** `missing`: there is no database yet, and none was made. */
  readonly result: 'missing' | 'current' | 'migrated'
}

interface MigratedServer extends Omit<SchemaChange, 'isChanged'> {
  /** Without its password. */
  readonly database: string
  readonly result: 'current' | 'migrated'
}

/** `onchain-inbox migrate`: brings the database to the schema of this version, without starting anything. */
export function addMigrateCommand(program: Command): void {
  const migrateCommand = program
    .command('migrate')
    .description(
      'bring the database to the schema of this version; a file is copied first, and `serve` does it to a file by itself',
    )
    .addHelpText('after', '\nExample:\n  $ onchain-inbox migrate')
  withOutputOptions(withConfigOption(migrateCommand)).action(async (options: MigrateOptions) => {
    // The copy holds every event: it is for its own user only.
    process.umask(0o077)
    const database = await databaseSetting(options)
    if (database.kind === 'postgres') printResult(await migrateServer(database.url), options, renderServer)
    else printResult(await migrateFile(database.file), options, renderFile)
  })
}

async function migrateServer(url: string): Promise<MigratedServer> {
  const { from, to, isChanged } = await withProgress((onUpgrade) => migrateSchema(url, undefined, onUpgrade))
  return { database: describeDatabase(url), result: isChanged ? 'migrated' : 'current', from, to }
}

async function migrateFile(file: string): Promise<MigratedFile> {
  if (!existsSync(file)) return { file, result: 'missing', from: null, to: newestSchema, backup: null }
  const upgrade = await withProgress((onUpgrade) => upgradeDatabase(file, onUpgrade))
  return { file, result: upgrade.from === upgrade.to ? 'current' : 'migrated', ...upgrade }
}

async function withProgress<T>(upgrade: (onUpgrade: OnUpgrade) => Promise<T>): Promise<T> {
  using progress = createProgress()
  return await upgrade((step, done) => progress.show(done, step))
}

async function databaseSetting(options: MigrateOptions): Promise<Exclude<DatabaseSetting, { kind: 'memory' }>> {
  const database = await readDatabaseSetting(options)
  if (database.kind !== 'memory') return database
  throw new InboxError(
    'usage',
    'memory: begins anew at each start, so there is nothing to migrate; expected a file in INBOX_DATABASE_URL, such as ' +
      'sqlite:./data/inbox.db',
  )
}

function renderServer({ database, result, from, to }: MigratedServer): string {
  if (result === 'current') return `nothing to do: ${database} has the schema ${to}`
  if (from === to) return `replaced the functions of ${database}, which has the schema ${to}`
  return from === null ? `gave ${database} the schema ${to}` : `migrated ${database} from ${from} to ${to}`
}

function renderFile({ file, result, from, to, backup }: MigratedFile): string {
  switch (result) {
    case 'missing':
      return `there is no database at ${file} yet: \`onchain-inbox serve\` makes it, with the schema ${to}`
    case 'current':
      return `nothing to do: ${file} has the schema ${to}`
    case 'migrated': {
      const kept = backup === null ? '' : `\nwhat it was before is kept as ${backup}`
      return `migrated ${file} from ${from ?? 'an empty file'} to ${to}${kept}`
    }
  }
}
