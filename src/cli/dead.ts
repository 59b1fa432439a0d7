import type { Command } from 'commander'
import type { DeadLetterJson, DroppedJson, RequeuedJson } from '../admin/dead-letters.ts'
import type { AdminCalls } from '../admin/routes.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { parseCount } from './arguments.ts'
import {
  asEventCommand,
  asListCommand,
  definedOf,
  onlyWay,
  withEvents,
  type EventCommandOptions,
} from './event-command.ts'
import { counted, printResult, renderTable } from './output.ts'

/** Which dead letters, by what they have in common. */
const filterNames = ['handler', 'type', 'group'] as const

interface RequeueOptions extends EventCommandOptions, Partial<Record<(typeof filterNames)[number], string>> {
  readonly all?: boolean
  readonly dryRun?: boolean
}

interface DropOptions extends RequeueOptions {
  readonly reason: string
}

const eitherOr = 'the numbers of runs, as `dead list` shows them, --all, or a filter: --handler, --type, --group'

/** `onchain-inbox dead list|show|requeue|drop`: the runs that were given up. */
export function addDeadCommand(program: Command): void {
  const dead = program.command('dead').description('look at dead letters, have them tried again, or end them for good')

  const list = withFilters(
    dead.command('list').description('list the runs that will not be tried again, those given up last first'),
  )
  asListCommand<DeadLetterJson>(list, {
    filters: filterNames,
    example: 'dead list --limit 20',
    fetch: (opened, query) => opened.call('listDeadLetters', { query }),
    none: 'no dead letters',
    columns: {
      run: (letter) => String(letter.run_id),
      died: (letter) => letter.died_at,
      handler: (letter) => letter.handler,
      type: (letter) => safeText(letter.type),
      attempts: (letter) => String(letter.attempt),
      event: (letter) => safeText(letter.event_id),
      error: ({ error }) => safeText(`${error.name}: ${error.message}`, 120),
    },
  })

  const show = dead
    .command('show')
    .description('show a dead letter with its last error')
    .argument('<run-id>', 'the number of the run, as `dead list` shows it')
  asEventCommand(show, 'dead show 17').action(async (runId: string, options: EventCommandOptions) => {
    await withEvents(options, async (opened) =>
      printResult(await opened.call('getDeadLetter', { id: runId }), options, renderLetter),
    )
  })

  const drop = asBulkAct(
    dead.command('drop').description('end dead letters for good; those that hold up their key let it go on'),
  ).requiredOption('--reason <text>', 'why; it is kept with the run')
  asEventCommand(drop, 'dead drop 17 42 --reason "the pair is gone"').action(
    async (runIds: readonly number[], options: DropOptions) => {
      const which = whichOf(runIds, options)
      const { reason, dryRun = false } = options
      await withEvents(options, async (opened) => {
        const result = await opened.call('dropDeadLetters', { body: { ...which, reason, dryRun } })
        if ('run_ids' in which && result.dropped === 0) throw new InboxError('not_found', sayNotDead(runIds))
        printResult(result, options, renderDropped)
      })
    },
  )

  const requeue = asBulkAct(
    dead.command('requeue').description('have dead letters tried again, with their attempts counted anew'),
  )
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
    .option('--handler <name>', 'only those of this handler')
    .option('--type <type>', 'only those of events of this type')
    .option(
      '--group <error>',
      'only those that died of this error: without its numbers and addresses, as the console groups them',
    )
}

function asBulkAct(command: Command): Command {
  return withFilters(
    command
      .argument('[run-id...]', 'the numbers of the runs, as `dead list` shows them', toRunIds)
      .option('--all', 'all dead letters'),
  ).option('--dry-run', 'only say how many there are')
}

/** Which dead letters, as the admin API takes it. */
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
  /** Runs that were asked for and are no dead letters. */
  readonly not_dead?: readonly number[]
}

/** One after the other, because only so it is known which of them was no dead letter. Throws `not_found` if none was one. */
async function requeueEach(opened: AdminCalls, runIds: readonly number[]): Promise<Requeued> {
  const notDead: number[] = []
  const wanted = new Set(runIds)
  for (const runId of wanted) {
    const { requeued } = await opened.call('requeueDeadLetters', { body: { run_ids: [runId] } })
    if (requeued === 0) notDead.push(runId)
  }
  if (notDead.length === wanted.size) throw new InboxError('not_found', sayNotDead(notDead))
  return { requeued: wanted.size - notDead.length, complete: true, not_dead: notDead }
}

function renderRequeued({ requeued, complete, not_dead: notDead = [], dry_run: isDryRun }: Requeued): string {
  const done = `${counted(requeued, 'run')} ${isDryRun ? 'would' : 'will'} be tried again${sayMore(complete)}`
  return notDead.length === 0 ? done : `${done}; ${sayNotDead(notDead)}`
}

function renderDropped({ dropped, complete, dry_run: isDryRun }: DroppedJson): string {
  const done = isDryRun ? 'would be dropped' : dropped === 1 ? 'was dropped' : 'were dropped'
  return `${counted(dropped, 'run')} ${done}${sayMore(complete)}`
}

function sayMore(complete: boolean): string {
  return complete ? '' : '; these are the first of them, there are more: then do it again'
}

function sayNotDead(runIds: readonly number[]): string {
  const numbers = runIds.join(', ')
  return runIds.length === 1 ? `run ${numbers} is no dead letter` : `runs ${numbers} are no dead letters`
}

function toRunIds(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, parseCount(text)]
}

function renderLetter(letter: DeadLetterJson): string {
  const { error } = letter
  const rows = [
    ['run', String(letter.run_id)],
    ['event', letter.event_id],
    ['type', letter.type],
    ['handler', letter.handler],
    ['died', letter.died_at],
    ['attempts', String(letter.attempt)],
    ['holds up its key', letter.held ? 'yes' : 'no'],
    ['error', `${error.name}: ${error.message}`],
  ].map(([name = '', value = '']) => [name, safeText(value)])
  const stack = (error.stack ?? '').split('\n').map((line) => safeText(line))
  return `${renderTable(['dead letter', ''], rows)}\n\n${stack.join('\n')}`.trimEnd()
}
