import type { Command } from 'commander'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { backupDatabase, restoreDatabase, verifyBackup, type BackupReport } from '../inbox/sqlite/backup.ts'
import { commandLine, fromCwd } from './host.ts'
import { printResult, withExamples, withOutputOptions, type OutputOptions, createProgress } from './output.ts'
import { renderRecord } from './table.ts'
import { readDatabaseSetting, withConfigOption } from './settings.ts'

interface BackupOptions extends OutputOptions {
  readonly config?: string
  readonly verify?: string
}

/** `onchain-inbox backup FILE`, `backup --verify FILE`. */
export function addBackupCommand(program: Command): void {
  const command = program
    .command('backup')
    .description('Copy the database to a checked backup, also while the sidecar runs')
    .argument('[file]', 'the backup to write')
    .option('--verify <file>', 'check an existing backup instead')
  const file = '/backups/inbox-2026-01-31.db'
  withExamples(withOutputOptions(withConfigOption(command)), [`backup ${file}`, `backup --verify ${file}`]).action(
    (file: string | undefined, options: BackupOptions) => backup(file, options),
  )
}

/** `onchain-inbox restore`. */
export function addRestoreCommand(program: Command): void {
  const command = program
    .command('restore')
    .description('Replace the database with a backup, and keep the old file')
    .argument('<file>', 'the backup')
  const example = 'restore /backups/inbox-2026-01-31.db'
  withExamples(withOutputOptions(withConfigOption(command)), [example], 'Stop the sidecar first.').action(
    (file: string, options: BackupOptions) => restore(file, options),
  )
}

async function backup(file: string | undefined, options: BackupOptions): Promise<void> {
  if ((file === undefined) === (options.verify === undefined))
    throw new InboxError('usage', 'expected either the file of the backup, or --verify with an existing one')
  if (file === undefined) {
    printResult(
      verifyBackup(fromCwd(options.verify ?? '')),
      options,
      (report) => `${judge(report)}\n\n${render(report)}`,
    )
    return
  }
  const database = await databaseFile(options)
  await refuseFolder(dirname(fromCwd(file)))
  using progress = createProgress()
  const made = await backupDatabase(database, fromCwd(file), (done) => progress.show(done, 'copying'))
  progress.end()
  printResult(made, options, (report) => `backed up to ${report.file}\n\n${render(report)}`)
}

/** Checks the folder before anything is copied. */
async function refuseFolder(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK)
  } catch (error) {
    const message = `the folder ${folder} can't be written (${messageOf(error)}): create it, or name another one`
    throw new InboxError('usage', message, { cause: error })
  }
}

async function restore(file: string, options: BackupOptions): Promise<void> {
  const { report, kept } = await restoreDatabase(fromCwd(file), await databaseFile(options), systemClock.now())
  printResult({ ...report, kept }, options, () => {
    const old = kept === null ? '' : `\nthe old database is kept as ${kept}`
    return `restored ${report.file}${old}\n\n${render(report)}\n\nEvents accepted since the backup are gone. What to replay: ${commandLine('doctor')}`
  })
}

async function databaseFile(options: BackupOptions): Promise<string> {
  const database = await readDatabaseSetting(options)
  if (database.kind === 'postgres') {
    throw new InboxError(
      'usage',
      'back up and restore a PostgreSQL database with its own tools, such as pg_dump and pg_restore',
    )
  }
  if (database.kind !== 'sqlite') throw new InboxError('usage', 'a memory: database has no file to back up')
  return database.file
}

function judge({ events, lastSeq }: BackupReport): string {
  const missing = lastSeq - events
  return missing === 0
    ? 'the backup is intact'
    : `the file is intact, but ${missing} accepted events are missing from it`
}

function render({ seenAt, file: _file, ...report }: BackupReport): string {
  return renderRecord('backup', { ...report, seenAt: seenAt === null ? null : new Date(seenAt).toISOString() })
}
