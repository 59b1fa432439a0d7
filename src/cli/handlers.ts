import type { Command } from 'commander'
import type { HandlersJson, PausedJson } from '../admin/views.ts'
import { InboxError } from '../errors.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { printError, printResult, renderTable } from './output.ts'

interface PauseOptions extends EventCommandOptions {
  readonly all?: boolean
}

/** `onchain-inbox handlers list|pause|resume`. */
export function addHandlersCommand(program: Command): void {
  const handlers = program.command('handlers').description('look at the handlers, pause them, and let them go on')

  const list = handlers.command('list').description('list the handlers with their open runs and dead letters')
  asEventCommand(list, 'handlers list').action(async (options: EventCommandOptions) => {
    await withEvents(options, async (opened) => printResult(await opened.listHandlers(), options, renderHandlers))
  })

  addPauseCommand(handlers, 'pause', true, 'hand out no more runs; events go on being accepted, also after a restart')
  addPauseCommand(handlers, 'resume', false, 'hand out runs again, the oldest first')
}

function addPauseCommand(handlers: Command, verb: string, paused: boolean, description: string): void {
  const command = handlers
    .command(verb)
    .description(description)
    .argument('[name]', 'the name of a handler, as `handlers list` shows it')
    .option('--all', 'all handlers together, beside what is paused one by one')
  asEventCommand(command, `handlers ${verb} wallet.large_trade`).action(
    async (name: string | undefined, options: PauseOptions) => {
      const isAll = options.all ?? false
      if (isAll === (name !== undefined)) {
        const message = 'expected either the name of a handler, as `handlers list` shows it, or --all'
        process.exitCode = printError(new InboxError('usage', message), options)
        return
      }
      await withEvents(options, async (opened) =>
        printResult(await opened.setPaused(name ?? null, paused), options, renderPaused),
      )
    },
  )
}

function renderPaused({ handler, paused }: PausedJson): string {
  const who = handler ?? 'all handlers together'
  return paused ? `paused: ${who}; what runs at the moment goes on` : `resumed: ${who}`
}

function renderHandlers({ paused, data }: HandlersJson): string {
  const rows = data.map((row) => [
    row.name,
    paused || row.paused ? 'paused' : row.loaded ? 'loaded' : 'not loaded',
    ...[row.waiting, row.ready, row.suspect, row.running, row.held, row.dead].map(String),
  ])
  const head = ['handler', 'state', 'waiting', 'ready', 'suspect', 'running', 'held', 'dead']
  return `${paused ? 'All handlers are paused: `handlers resume --all`.\n\n' : ''}${renderTable(head, rows)}`
}
