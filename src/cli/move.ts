import type { Command } from 'commander'
import { systemClock } from '../base/clock.ts'
import { databaseUrl } from '../config/values.ts'
import { InboxError } from '../base/errors.ts'
import { parseDatabaseUrl } from '../base/database-url.ts'
import { moveInbox, undoMove, type MoveReport } from '../inbox/move/move.ts'
import { fromCwd } from './host.ts'
import { printResult, renderTable, withOutputOptions, type OutputOptions } from './output.ts'
import { createProgress } from './screen.ts'
import { readSecretArgument } from './secret-argument.ts'

interface MoveCommandOptions extends OutputOptions {
  readonly from: string
  readonly to?: string
  readonly verifyOnly?: boolean
  readonly undo?: boolean
}

/** `onchain-inbox move`: an inbox goes from a SQLite file to PostgreSQL. */
export function addMoveCommand(program: Command): void {
  const command = program
    .command('move')
    .description(
      'move a SQLite database, which no process may be working on, to an empty PostgreSQL database, with all ids, and compare both sides. ' +
        'The same call goes on where one was interrupted',
    )
    .requiredOption('--from <url>', 'the file: sqlite:./data/inbox.db')
    .option(
      '--to <url>',
      'where it goes: postgres://…; with a password in it as env:NAME, @file, or - for standard input',
    )
    .option('--verify-only', 'only compare both sides, before the first replica is started; nothing is changed')
    .option('--undo', 'let a file that was moved be served again; what is in PostgreSQL stays as it is')
  withOutputOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  $ onchain-inbox move --from sqlite:./data/inbox.db --to env:CLUSTER_URL\n' +
        '  $ onchain-inbox move --from sqlite:./data/inbox.db --to @/run/secrets/database-url --verify-only\n' +
        '  $ onchain-inbox move --from sqlite:./data/inbox.db --undo',
    )
    .action(async (options: MoveCommandOptions) => {
      // What is made beside the file is for its own user only.
      process.umask(0o077)
      await run(options)
    })
}

async function run(options: MoveCommandOptions): Promise<void> {
  const { to, undo, verifyOnly = false } = options
  const from = fileOf(options.from)
  if (undo === true) {
    if (to !== undefined || verifyOnly) throw new InboxError('usage', '--undo takes --from alone')
    const undone = { result: 'undone' as const, from: await undoMove(from, systemClock) }
    printResult(
      undone,
      options,
      () => `${undone.from} is served again when it is named; what is in PostgreSQL was left as it is`,
    )
    return
  }
  if (to === undefined) throw new InboxError('usage', 'expected --to with the URL of a PostgreSQL database, or --undo')
  const url = await readUrl(to)
  using progress = createProgress()
  const report = await moveInbox({
    from,
    to: url,
    clock: systemClock,
    isVerifyOnly: verifyOnly,
    onProgress: (done, text) => progress.show(done, text),
  })
  progress.end()
  printResult(report, options, render)
}

function fileOf(given: string): string {
  const found = databaseUrl.safeParse(given)
  if (found.success && found.data.kind === 'sqlite') return fromCwd(found.data.file)
  throw new InboxError('usage', '--from: expected the URL of a SQLite file, such as sqlite:./data/inbox.db')
}

/** A literal passes where there is no password in it, and, with a warning, for this machine. */
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

function render({ result, from, to, resumed, tables }: MoveReport): string {
  const rows = renderTable(
    ['table', 'rows', 'compared'],
    tables.map(({ table, rows: count, compared }) => [table, String(count), String(compared)]),
  )
  switch (result) {
    case 'finished':
      return `nothing to do: ${from} was moved to ${to} before`
    case 'verified':
      return `${to} holds what ${from} does\n\n${rows}`
    case 'moved':
      return (
        `moved ${from} to ${to}${resumed ? ', where an earlier call had begun' : ''}; both sides agree\n\n${rows}\n\n` +
        `Start the replicas with that database in INBOX_DATABASE_URL. The file is not served any more: keep it until you need it no longer.`
      )
  }
}
