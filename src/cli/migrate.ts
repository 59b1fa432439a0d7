import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import type { DatabaseSetting } from '../config/values.ts'
import { describeDatabase } from '../base/database-url.ts'
import { InboxError } from '../base/errors.ts'
import { migrateSchema } from '../inbox/postgres/migrate.ts'
import { newestSchema, upgradeDatabase } from '../inbox/sqlite/inspect.ts'
import type { OnUpgrade } from '../inbox/types.ts'
import { printResult, withExamples, withOutputOptions, type OutputOptions, createProgress } from './output.ts'
import { readDatabaseSetting, withConfigOption, type ConfigOption } from './settings.ts'

interface MigrateOptions extends OutputOptions, ConfigOption {}

/** `onchain-inbox migrate`: upgrades the schema of the database without starting anything. */
export function addMigrateCommand(program: Command): void {
  const command = program.command('migrate').description('Upgrade the database to the schema of this version')
  withExamples(command, ['migrate'], 'A SQLite file is copied first. `serve` upgrades it by itself.')
  withOutputOptions(withConfigOption(command)).action(async (options: MigrateOptions) => {
    const database = await databaseSetting(options)
    if (database.kind === 'postgres') printResult(await migrateServer(database.url), options, renderServer)
    else printResult(await migrateFile(database.file), options, renderFile)
  })
}

async function migrateServer(url: string) {
  const { from, to, isChanged } = await withProgress((onUpgrade) => migrateSchema(url, undefined, onUpgrade))
  const result = isChanged ? ('migrated' as const) : ('current' as const)
  return { database: describeDatabase(url), result, from, to }
}

/** `missing`: the file doesn't exist, and none was created. */
async function migrateFile(file: string) {
  if (!existsSync(file)) return { file, result: 'missing' as const, from: null, to: newestSchema, backup: null }
  const upgrade = await withProgress((onUpgrade) => upgradeDatabase(file, onUpgrade))
  const result = upgrade.from === upgrade.to ? ('current' as const) : ('migrated' as const)
  return { file, result, ...upgrade }
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
    'a memory: database has nothing to migrate; set INBOX_DATABASE_URL to a file, such as sqlite:./data/inbox.db',
  )
}

function renderServer({ database, result, from, to }: Awaited<ReturnType<typeof migrateServer>>): string {
  if (result === 'current') return `nothing to do: ${database} has schema ${to}`
  if (from === to) return `replaced the functions of ${database}, schema ${to}`
  return from === null ? `created schema ${to} in ${database}` : `migrated ${database} from ${from} to ${to}`
}

function renderFile({ file, result, from, to, backup }: Awaited<ReturnType<typeof migrateFile>>): string {
  switch (result) {
    case 'missing':
      return `no database at ${file} yet: \`onchain-inbox serve\` creates it with schema ${to}`
    case 'current':
      return `nothing to do: ${file} has schema ${to}`
    case 'migrated': {
      const backupNote = backup === null ? '' : `\nthe old file is kept as ${backup}`
      return `migrated ${file} from ${from ?? 'an empty file'} to ${to}${backupNote}`
    }
  }
}
