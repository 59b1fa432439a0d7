import type { Command } from 'commander'
import type { DeadLetterJson, DroppedJson, RequeuedJson } from '../admin/dead-letters.ts'
import type { AdminCalls } from '../admin/routes.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { parseCount } from './arguments.ts'
import {
  asCallCommand,
  asEventCommand,
  asListCommand,
  definedOf,
  onlyWay,
  withEvents,
  type EventCommandOptions,
} from './event-command.ts'
import { asGroup, counted, printResult, renderTable } from './output.ts'

const filterNames = ['handler', 'type', 'group'] as const

interface RequeueOptions extends EventCommandOptions, Partial<Record<(typeof filterNames)[number], string>> {
  readonly all?: boolean
  readonly dryRun?: boolean
}

interface DropOptions extends RequeueOptions {
  readonly reason: string
}

const eitherOr = 'run numbers as in `dead list`, --all, or a filter: --handler, --type, --group'

/** `onchain-inbox dead list|show|requeue|drop`. */
export function addDeadCommand(program: Command): void {
  const dead = asGroup(program.command('dead').description('List, requeue and drop dead letters'), 'dead list')

  const list = withFilters(dead.command('list').description('List dead letters, newest first'))
  asListCommand<DeadLetterJson>(list, {
    filters: filterNames,
    example: 'dead list --limit 20',
    fetch: (opened, query) => opened.call('listDeadLetters', { query }),
    none: 'no dead letters',
    columns: {
      run: (deadLetter) => String(deadLetter.run_id),
      died: (deadLetter) => deadLetter.died_at,
      handler: (deadLetter) => deadLetter.handler,
      type: (deadLetter) => safeText(deadLetter.type),
      attempts: (deadLetter) => String(deadLetter.attempt),
      event: (deadLetter) => safeText(deadLetter.event_id),
      error: ({ error }) => safeText(`${error.name}: ${error.message}`, 120),
    },
  })

  const show = dead
    .command('show')
    .description('Show a dead letter with its last error')
    .argument('<run-id>', 'run number, as in `dead list`')
  asCallCommand(show, 'getDeadLetter', { example: 'dead show 17', render: renderDeadLetter })

  const drop = asBulkAction(
    dead.command('drop').description('Drop dead letters for good, and unblock their keys'),
  ).requiredOption('--reason <text>', 'why; stored with each run')
  asEventCommand(drop, 'dead drop 17 42 --reason "the pair is gone"').action(
    async (runIds: readonly number[], options: DropOptions) => {
      const which = whichOf(runIds, options)
      const { reason, dryRun = false } = options
      await withEvents(options, async (opened) => {
        const result = await opened.call('dropDeadLetters', { body: { ...which, reason, dryRun } })
        if ('run_ids' in which && result.dropped === 0) throw new InboxError('not_found', notDeadText(runIds))
        printResult(result, options, renderDropped)
      })
    },
  )

  const requeue = asBulkAction(dead.command('requeue').description('Run dead letters again, from attempt 1'))
  asEventCommand(requeue, 'dead requeue 17 42').action(async (runIds: readonly number[], options: RequeueOptions) => {
    const which = whichOf(runIds, options)
    const { dryRun = false } = options
    await withEvents(options, async (opened) => {
      const isEach = 'run_ids' in which && !dryRun
      const result = isEach
        ? await requeueEach(opened, runIds)
        : await opened.call('requeueDeadLetters', { body: { ...which, dryRun } })
      printResult(result, options, renderRequeued)
    })
  })
}

function withFilters(command: Command): Command {
  return command
    .option('--handler <name>', 'only dead letters of this handler')
    .option('--type <type>', 'only dead letters of events of this type')
    .option('--group <error>', 'only dead letters of this group, as in the console: error and top frame')
}

function asBulkAction(command: Command): Command {
  return withFilters(
    command.argument('[run-id...]', 'run numbers, as in `dead list`', toRunIds).option('--all', 'all dead letters'),
  ).option('--dry-run', 'only count them')
}

/** The selection of dead letters, as the admin API takes it. */
function whichOf(runIds: readonly number[], options: RequeueOptions) {
  const filter = definedOf(options, filterNames)
  return onlyWay(
    [
      ...(runIds.length === 0 ? [] : [{ run_ids: runIds }]),
      ...(options.all === true ? [{ all: true }] : []),
      ...(Object.keys(filter).length === 0 ? [] : [{ filter }]),
    ],
    eitherOr,
  )
}

interface Requeued extends RequeuedJson {
  /** Requested runs that are not dead letters. */
  readonly not_dead?: readonly number[]
}

/** One call per run, to know which ones are not dead letters. Throws `not_found` if none is. */
async function requeueEach(opened: AdminCalls, runIds: readonly number[]): Promise<Requeued> {
  const notDead: number[] = []
  const wanted = new Set(runIds)
  for (const runId of wanted) {
    const { requeued } = await opened.call('requeueDeadLetters', { body: { run_ids: [runId] } })
    if (requeued === 0) notDead.push(runId)
  }
  if (notDead.length === wanted.size) throw new InboxError('not_found', notDeadText(notDead))
  return { requeued: wanted.size - notDead.length, complete: true, not_dead: notDead }
}

function renderRequeued({ requeued, complete, not_dead: notDead = [], dry_run: isDryRun }: Requeued): string {
  const done = `${counted(requeued, 'run')} ${isDryRun ? 'would' : 'will'} run again${moreText(complete)}`
  return notDead.length === 0 ? done : `${done}; ${notDeadText(notDead)}`
}

function renderDropped({ dropped, complete, dry_run: isDryRun }: DroppedJson): string {
  const done = isDryRun ? 'would be dropped' : dropped === 1 ? 'was dropped' : 'were dropped'
  return `${counted(dropped, 'run')} ${done}${moreText(complete)}`
}

function moreText(complete: boolean): string {
  return complete ? '' : '; more are left: run the command again'
}

function notDeadText(runIds: readonly number[]): string {
  const numbers = runIds.join(', ')
  return runIds.length === 1 ? `run ${numbers} is not a dead letter` : `runs ${numbers} are not dead letters`
}

function toRunIds(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, parseCount(text)]
}

function renderDeadLetter(deadLetter: DeadLetterJson): string {
  const { error } = deadLetter
  const rows = [
    ['run', String(deadLetter.run_id)],
    ['event', deadLetter.event_id],
    ['type', deadLetter.type],
    ['handler', deadLetter.handler],
    ['died', deadLetter.died_at],
    ['attempts', String(deadLetter.attempt)],
    ['blocks its key', deadLetter.held ? 'yes' : 'no'],
    ['error', `${error.name}: ${error.message}`],
  ].map(([name = '', value = '']) => [name, safeText(value)])
  const stack = (error.stack ?? '').split('\n').map((line) => safeText(line))
  return `${renderTable(['dead letter', ''], rows)}\n\n${stack.join('\n')}`.trimEnd()
}
