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

interface RequeueOptions extends EventCommandOptions {
  readonly all?: boolean
}

/** `onchain-inbox dead list|requeue`: the runs that were given up. */
export function addDeadCommand(program: Command): void {
  const dead = program.command('dead').description('look at dead letters, and have them tried again')

  const list = dead
    .command('list')
    .description('list the runs that will not be tried again, newest first')
    .option('--limit <number>', 'how many', parseCount, 50)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asEventCommand(list, 'dead list --limit 20').action(async (options: ListOptions) => {
    const { cursor, limit } = options
    await withEvents(options, async (opened) => {
      const found = await collect((query) => opened.listDead(query), cursor === undefined ? {} : { cursor }, limit)
      printResult(found, options, renderDead)
    })
  })

  const requeue = dead
    .command('requeue')
    .description('have dead letters tried again, with their attempts counted anew')
    .argument('[run-id...]', 'the numbers of the runs, as `dead list` shows them', toRunIds)
    .option('--all', 'all dead letters')
  asEventCommand(requeue, 'dead requeue 17 42').action(async (runIds: readonly number[], options: RequeueOptions) => {
    const isAll = options.all ?? false
    if (isAll === runIds.length > 0) {
      const message = 'expected either the numbers of runs, as `dead list` shows them, or --all'
      process.exitCode = printError(new InboxError('usage', message), options)
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
