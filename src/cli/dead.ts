import type { Command } from 'commander'
import { parseCount } from './arguments.ts'
import {
  addCallCommand,
  addListCommand,
  definedOf,
  exitCodeOf,
  option,
  selectionOf,
  type InboxOptions,
} from './inbox-command.ts'
import { withExamples, counted } from './output.ts'
import { renderRecord } from './table.ts'

interface BulkOptions extends InboxOptions {
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly reason?: string
}

const filters = [
  option('--handler <name>', 'only dead letters of this handler'),
  option('--type <type>', 'only dead letters of events of this type'),
  option('--group <error>', 'only dead letters of this group, as in the console: error and top frame'),
]
const filterNames = filters.map((filter) => filter.attributeName())

const bulk = {
  argument: [
    '[run-id...]',
    'run numbers, as in `dead list`',
    (text: string, before: readonly number[] = []) => [...before, parseCount(text)],
  ],
  options: [option('--all', 'all dead letters'), ...filters, option('--dry-run', 'only count them')],
  toRequest: (runIds: readonly number[] = [], { all, dryRun = false, ...options }: BulkOptions) => ({
    body: { ...which(runIds, all, options), ...definedOf(options, ['reason']), dryRun },
  }),
} as const

function which(runIds: readonly number[], all: boolean | undefined, options: InboxOptions): object {
  const expected = 'run numbers (see `dead list`), --all, a filter (--handler, --type, --group)'
  return selectionOf({ run_ids: runIds }, all, definedOf(options, filterNames), expected)
}

/** `onchain-inbox dead list|show|requeue|drop`. */
export function addDeadCommand(program: Command): void {
  const dead = withExamples(program.command('dead').description('List, requeue and drop dead letters'), ['dead list'])
  addListCommand(dead, 'list', 'listDeadLetters', {
    description: 'List dead letters, newest first',
    options: filters,
    example: 'dead list --limit 20',
    columns: 'run_id died_at handler type attempt event_id error',
    none: 'no dead letters',
  })
  addCallCommand(dead, 'show', 'getDeadLetter', {
    description: 'Show a dead letter with its last error',
    argument: ['<run-id>', 'run number, as in `dead list`'],
    example: 'dead show 17',
    render: (deadLetter) => renderRecord('dead letter', deadLetter),
  })
  addCallCommand(dead, 'drop', 'dropDeadLetters', {
    ...bulk,
    description: 'Drop dead letters for good, and unblock their keys',
    options: [...bulk.options, option('--reason <text>', 'why; stored with each run').makeOptionMandatory()],
    example: 'dead drop 17 42 --reason "the pair is gone"',
    render: ({ dropped, complete, dry_run: isDryRun }, _, runIds) =>
      `${counted(dropped, 'run')} ${isDryRun ? 'would be' : dropped === 1 ? 'was' : 'were'} dropped` +
      rest(dropped, complete, runIds),
    exitCode: ({ dropped }, runIds) => exitCodeOf(dropped, runIds),
  })
  addCallCommand(dead, 'requeue', 'requeueDeadLetters', {
    ...bulk,
    description: 'Run dead letters again, from attempt 1',
    example: 'dead requeue 17 42',
    render: ({ requeued, complete, dry_run: isDryRun }, _, runIds) =>
      `${counted(requeued, 'run')} ${isDryRun ? 'would' : 'will'} run again${rest(requeued, complete, runIds)}`,
    exitCode: ({ requeued }, runIds) => exitCodeOf(requeued, runIds),
  })
}

/** End of the output line: that dead letters are left, or that named runs are none. `count`: runs that the command changed. */
function rest(count: number, complete: boolean, runIds: readonly number[] = []): string {
  const unknown = new Set(runIds).size - count
  if (unknown > 0) return `; ${counted(unknown, 'named run is no dead letter', 'named runs are no dead letters')}`
  return complete ? '' : '; more are left: run the command again'
}
