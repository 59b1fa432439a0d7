import type { Command } from 'commander'
import type { DeadLetterJson, ListJson } from '../admin/json.ts'
import type { EventAccess } from '../admin/views.ts'
import { InboxError } from '../errors.ts'
import { safeText } from '../log.ts'
import { asEventCommand, collect, moreLine, parseCount, withEvents, type EventCommandOptions } from './event-command.ts'
import { printError, printResult, renderTable } from './output.ts'

interface ListOptions extends EventCommandOptions {
  readonly limit: number
  readonly cursor?: string
}

interface DropOptions extends EventCommandOptions {
  readonly all?: boolean
  readonly reason: string
}

const eitherOr = 'expected either the numbers of runs, as `dead list` shows them, or --all'

interface RequeueOptions extends EventCommandOptions {
  readonly all?: boolean
}

/** `onchain-inbox dead list|show|requeue|drop`: the runs that were given up. */
export function addDeadCommand(program: Command): void {
  const dead = program.command('dead').description('look at dead letters, have them tried again, or end them for good')

  const list = dead
    .command('list')
    .description('list the runs that will not be tried again, those given up last first')
    .option('--limit <number>', 'how many', parseCount, 50)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asEventCommand(list, 'dead list --limit 20').action(async (options: ListOptions) => {
    const { cursor, limit } = options
    await withEvents(options, async (opened) => {
      const found = await collect((query) => opened.listDead(query), cursor === undefined ? {} : { cursor }, limit)
      printResult(found, options, renderDead)
    })
  })

  const show = dead
    .command('show')
    .description('show a dead letter with its last error')
    .argument('<run-id>', 'the number of the run, as `dead list` shows it')
  asEventCommand(show, 'dead show 17').action(async (runId: string, options: EventCommandOptions) => {
    await withEvents(options, async (opened) => printResult(await opened.showDead(runId), options, renderLetter))
  })

  const drop = dead
    .command('drop')
    .description('end dead letters for good; those that hold up their key let it go on')
    .argument('[run-id...]', 'the numbers of the runs, as `dead list` shows them', toRunIds)
    .option('--all', 'all dead letters')
    .requiredOption('--reason <text>', 'why; it is kept with the run')
  asEventCommand(drop, 'dead drop 17 42 --reason "the pair is gone"').action(
    async (runIds: readonly number[], options: DropOptions) => {
      const { reason, all = false } = options
      if (all === runIds.length > 0) {
        process.exitCode = printError(new InboxError('usage', eitherOr), options)
        return
      }
      await withEvents(options, async (opened) => {
        const { dropped } = await opened.dropDead(all ? { all, reason } : { run_ids: runIds, reason })
        if (!all && dropped === 0) throw new InboxError('not_found', sayNotDead(runIds))
        printResult({ dropped }, options, () => (dropped === 1 ? '1 run was dropped' : `${dropped} runs were dropped`))
      })
    },
  )

  const requeue = dead
    .command('requeue')
    .description('have dead letters tried again, with their attempts counted anew')
    .argument('[run-id...]', 'the numbers of the runs, as `dead list` shows them', toRunIds)
    .option('--all', 'all dead letters')
  asEventCommand(requeue, 'dead requeue 17 42').action(async (runIds: readonly number[], options: RequeueOptions) => {
    const isAll = options.all ?? false
    if (isAll === runIds.length > 0) {
      process.exitCode = printError(new InboxError('usage', eitherOr), options)
      return
    }
    await withEvents(options, async (opened) => {
      const result = isAll ? await opened.requeueDead({ all: true }) : await requeueEach(opened, runIds)
      printResult(result, options, renderRequeued)
    })
  })
}

interface Requeued {
  readonly requeued: number
  /** Runs that were asked for and are no dead letters. */
  readonly not_dead?: readonly number[]
}

/** One after the other, because only so it is known which of them was no dead letter. Throws `not_found` if none was one. */
async function requeueEach(opened: EventAccess, runIds: readonly number[]): Promise<Requeued> {
  const notDead: number[] = []
  const wanted = new Set(runIds)
  for (const runId of wanted) {
    const { requeued } = await opened.requeueDead({ run_ids: [runId] })
    if (requeued === 0) notDead.push(runId)
  }
  if (notDead.length === wanted.size) throw new InboxError('not_found', sayNotDead(notDead))
  return { requeued: wanted.size - notDead.length, not_dead: notDead }
}

function renderRequeued({ requeued, not_dead: notDead = [] }: Requeued): string {
  const done = requeued === 1 ? '1 run will be tried again' : `${requeued} runs will be tried again`
  return notDead.length === 0 ? done : `${done}; ${sayNotDead(notDead)}`
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
