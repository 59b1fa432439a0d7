import type { Command } from 'commander'
import type { DeadLetterJson, DroppedJson, RequeuedJson } from '../admin/dead-letters.ts'
import type { AdminCalls } from '../admin/routes.ts'
import type { ListJson } from '../admin/wire.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { asEventCommand, collect, moreLine, parseCount, withEvents, type EventCommandOptions } from './event-command.ts'
import { printResult, renderTable } from './output.ts'

/** Which dead letters, by what they have in common. */
interface FilterOptions {
  readonly handler?: string
  readonly type?: string
  readonly group?: string
}

interface ListOptions extends EventCommandOptions, FilterOptions {
  readonly limit: number
  readonly cursor?: string
}

interface RequeueOptions extends EventCommandOptions, FilterOptions {
  readonly all?: boolean
  readonly dryRun?: boolean
}

interface DropOptions extends RequeueOptions {
  readonly reason: string
}

const eitherOr =
  'expected either the numbers of runs, as `dead list` shows them, --all, or a filter: --handler, --type, --group'

/** `onchain-inbox dead list|show|requeue|drop`: the runs that were given up. */
export function addDeadCommand(program: Command): void {
  const dead = program.command('dead').description('look at dead letters, have them tried again, or end them for good')

  const list = withFilters(
    dead.command('list').description('list the runs that will not be tried again, those given up last first'),
  )
    .option('--limit <number>', 'how many', parseCount, 50)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asEventCommand(list, 'dead list --limit 20').action(async (options: ListOptions) => {
    const { cursor, limit } = options
    const start = { ...filterOf(options), ...(cursor !== undefined && { cursor }) }
    await withEvents(options, async (opened) => {
      const found = await collect((query) => opened.call('listDeadLetters', { query }), start, limit)
      printResult(found, options, renderDead)
    })
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
      if (which === null) {
        throw new InboxError('usage', eitherOr)
      }
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
    if (which === null) {
      throw new InboxError('usage', eitherOr)
    }
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

function filterOf({ handler, type, group }: FilterOptions): FilterOptions {
  return {
    ...(handler !== undefined && { handler }),
    ...(type !== undefined && { type }),
    ...(group !== undefined && { group }),
  }
}

/** Which dead letters, as the admin API takes it; null unless exactly one way was chosen. */
function whichOf(runIds: readonly number[], options: RequeueOptions) {
  const filter = filterOf(options)
  const ways = [
    ...(runIds.length === 0 ? [] : [{ run_ids: runIds }]),
    ...(options.all === true ? [{ all: true }] : []),
    ...(Object.keys(filter).length === 0 ? [] : [{ filter }]),
  ]
  return ways.length === 1 ? (ways[0] ?? null) : null
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
  const runs = requeued === 1 ? '1 run' : `${requeued} runs`
  const done = `${runs} ${isDryRun ? 'would' : 'will'} be tried again${sayMore(complete)}`
  return notDead.length === 0 ? done : `${done}; ${sayNotDead(notDead)}`
}

function renderDropped({ dropped, complete, dry_run: isDryRun }: DroppedJson): string {
  const runs = dropped === 1 ? '1 run' : `${dropped} runs`
  const done = isDryRun ? 'would be dropped' : dropped === 1 ? 'was dropped' : 'were dropped'
  return `${runs} ${done}${sayMore(complete)}`
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

function renderDead(list: ListJson<DeadLetterJson>): string {
  const rows = list.data.map((letter) => [
    String(letter.run_id),
    letter.died_at,
    letter.handler,
    safeText(letter.type),
    String(letter.attempt),
    safeText(letter.event_id),
    safeText(`${letter.error.name}: ${letter.error.message}`, 120),
  ])
  const head = ['run', 'died', 'handler', 'type', 'attempts', 'event', 'error']
  return `${rows.length === 0 ? 'no dead letters' : renderTable(head, rows)}${moreLine(list)}`
}
