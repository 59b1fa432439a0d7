import type { Command } from 'commander'
import { systemClock } from '../base/clock.ts'
import { databaseUrl } from '../config/values.ts'
import { InboxError } from '../base/errors.ts'
import { parseDatabaseUrl } from '../base/database-url.ts'
import { moveInbox, undoMove, type MoveReport } from '../inbox/move/move.ts'
import { fromCwd } from './host.ts'
import { printResult, withExamples, withOutputOptions, type OutputOptions, createProgress } from './output.ts'
import { renderTable } from './table.ts'
import { readSecretArgument } from './secret-argument.ts'

interface MoveCommandOptions extends OutputOptions {
  readonly from: string
  readonly to?: string
  readonly undo?: boolean
}

/** `onchain-inbox move`: moves an inbox from a SQLite file to PostgreSQL. */
export function addMoveCommand(program: Command): void {
  const command = program
    .command('move')
    .description('Move a SQLite database to an empty PostgreSQL database')
    .requiredOption('--from <url>', 'the file: sqlite:./data/inbox.db')
    .option('--to <url>', 'postgres://…; with a password only as env:NAME, @file, or - for standard input')
    .option('--undo', 'allow a moved file to be served again; PostgreSQL stays unchanged')
  const note =
    'Stop the sidecar first. All ids are kept, and both databases are compared. To repeat an interrupted move,\n' +
    'run it again.'
  const examples = ['--to env:CLUSTER_URL', '--undo'].map((options) => `move --from sqlite:./data/inbox.db ${options}`)
  withExamples(withOutputOptions(command), examples, note).action(run)
}

async function run(options: MoveCommandOptions): Promise<void> {
  const { to, undo } = options
  const from = fileOf(options.from)
  if (undo === true) {
    if (to !== undefined) throw new InboxError('usage', '--undo takes only --from')
    const undone = { result: 'undone' as const, from: await undoMove(from, systemClock) }
    printResult(undone, options, () => `${undone.from} can be served again; PostgreSQL was left unchanged`)
    return
  }
  if (to === undefined) throw new InboxError('usage', 'expected --to <PostgreSQL URL>, or --undo')
  const url = await readUrl(to)
  using progress = createProgress()
  const report = await moveInbox({
    from,
    to: url,
    clock: systemClock,
    onProgress: (done, text) => progress.show(done, text),
  })
  progress.end()
  printResult(report, options, render)
}

function fileOf(url: string): string {
  const parsed = databaseUrl.safeParse(url)
  if (parsed.success && parsed.data.kind === 'sqlite') return fromCwd(parsed.data.file)
  throw new InboxError('usage', '--from must be the URL of a SQLite file, such as sqlite:./data/inbox.db')
}

/** A literal URL may hold no password, except on this machine, with a warning. */
async function readUrl(argument: string): Promise<string> {
  const isLiteral = /^postgres(ql)?:/i.test(argument)
  const hasPassword = isLiteral && holdsPassword(parseDatabaseUrl(argument))
  const url = isLiteral && !hasPassword ? argument : await readSecretArgument(argument, { url: argument })
  parseDatabaseUrl(url)
  return url
}

function holdsPassword({ password, searchParams }: URL): boolean {
  return password !== '' || searchParams.has('password')
}

function render({ result, from, to, tables }: MoveReport): string {
  if (result === 'finished') return `nothing to do: ${from} was already moved to ${to}`
  const rows = tables.map(({ table, rows: count }) => [table, String(count)])
  return (
    `moved ${from} to ${to}; both databases agree\n\n` +
    `${renderTable(['table', 'rows'], rows)}\n\n` +
    `Start the replicas with this database in INBOX_DATABASE_URL. The file can't be served any more: keep it as a backup.`
  )
}
