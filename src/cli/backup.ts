import type { Command } from 'commander'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { backupDatabase, restoreDatabase, verifyBackup, type BackupReport } from '../inbox/sqlite/backup.ts'
import { fromCwd } from './host.ts'
import { printResult, renderTable, withOutputOptions, type OutputOptions } from './output.ts'
import { createProgress } from './screen.ts'
import { readDatabaseSetting, withConfigOption } from './settings.ts'

interface BackupOptions extends OutputOptions {
  readonly config?: string
  readonly verify?: string
}

/** `onchain-inbox backup FILE`, `backup --verify FILE`. */
export function addBackupCommand(program: Command): void {
  const command = program
    .command('backup')
    .description(
      'copy the database, also while the sidecar runs, as it is at one moment; the copy is checked, and durable',
    )
    .argument('[file]', 'where the copy goes')
    .option('--verify <file>', 'only check a backup that was made before')
  withOutputOptions(withConfigOption(command))
    .addHelpText(
      'after',
      '\nExamples:\n  $ onchain-inbox backup /backups/inbox-2026-01-31.db\n' +
        '  $ onchain-inbox backup --verify /backups/inbox-2026-01-31.db',
    )
    .action((file: string | undefined, options: BackupOptions) => backup(file, options))
}

/** `onchain-inbox restore`. */
export function addRestoreCommand(program: Command): void {
  const command = program
    .command('restore')
    .description(
      'put a backup in the place of the database, which no process may be working on; the old one is kept beside it',
    )
    .argument('<file>', 'the backup')
  withOutputOptions(withConfigOption(command))
    .addHelpText('after', '\nExample:\n  $ onchain-inbox restore /backups/inbox-2026-01-31.db')
    .action((file: string, options: BackupOptions) => restore(file, options))
}

async function backup(file: string | undefined, options: BackupOptions): Promise<void> {
  // A copy holds every event: it is for its own user only.
  process.umask(0o077)
  if ((file === undefined) === (options.verify === undefined))
    throw new InboxError('usage', 'expected either where the copy goes, or --verify with a backup')
  if (file === undefined) {
    printResult(verifyBackup(fromCwd(options.verify ?? '')), options, (found) => `${judge(found)}\n\n${render(found)}`)
    return
  }
  const source = await databaseFile(options)
  await refuseFolder(dirname(fromCwd(file)))
  using progress = createProgress()
  const made = await backupDatabase(source, fromCwd(file), (done) => progress.show(done, 'copying'))
  progress.end()
  printResult(made, options, (found) => `backed up to ${found.file}\n\n${render(found)}`)
}

/** Before anything is copied, what only a person can mend. */
async function refuseFolder(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK)
  } catch (error) {
    const message = `no backup can be written to the folder ${folder} (${messageOf(error)}): make it, or name another one`
    throw new InboxError('usage', message, { cause: error })
  }
}

async function restore(file: string, options: BackupOptions): Promise<void> {
  // A copy holds every event: it is for its own user only.
  process.umask(0o077)
  const { report: found, kept } = await restoreDatabase(fromCwd(file), await databaseFile(options), systemClock.now())
  printResult({ ...found, kept }, options, () => {
    const old = kept === null ? '' : `\nwhat was there is kept as ${kept}`
    return `restored ${found.file}${old}\n\n${render(found)}\n\nWhat was accepted since then is gone: onchain-inbox doctor says what to replay.`
  })
}

async function databaseFile(options: BackupOptions): Promise<string> {
  const database = await readDatabaseSetting(options)
  if (database.kind === 'postgres') {
    throw new InboxError(
      'usage',
      'a PostgreSQL database is backed up and restored by its own tools, such as pg_dump and pg_restore',
    )
  }
  if (database.kind !== 'sqlite') throw new InboxError('usage', 'memory: has no file that could be backed up')
  return database.file
}

function judge({ events, lastSeq }: BackupReport): string {
  const missing = lastSeq - events
  return missing === 0 ? 'the backup is well' : `the file is well, but ${missing} accepted events are missing from it`
}

function render(found: BackupReport): string {
  const missing = found.lastSeq - found.events
  return renderTable(
    ['backup', ''],
    [
      ['events', String(found.events)],
      ['highest number', `${found.lastSeq}${missing === 0 ? '' : `, so ${missing} are missing`}`],
      ['open runs', String(found.openRuns)],
      ['dead letters', String(found.deadLetters)],
      ['last written', found.seenAt === null ? '-' : new Date(found.seenAt).toISOString()],
    ],
  )
}
