import type { Command } from 'commander'
import type { HandlerJson, HandlerListJson, PausedJson, ShutJson } from '../admin/handlers.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { counted, printResult, renderTable } from './output.ts'

interface SetOptions extends EventCommandOptions {
  readonly concurrency: number | 'default'
}

interface DropOptions extends EventCommandOptions {
  readonly reason: string
}

interface PauseOptions extends EventCommandOptions {
  readonly all?: boolean
}

const columnsHelp = `
Open runs are
  waiting     behind another one of their key
  ready       to be handed out, or to be tried again at a later time
  suspect     lost with a thread, to be tried one by one
  handed out  to a thread of handlers (\`running\` with --json): some of them at work, up to what may run at once, the
              others next in line; they come in portions
\`at once\` is how many of them may run at once; \`set\`: somebody changed that with \`handlers set\`.
An \`orphaned\` handler has open runs, and no running process has it: bring it back, or \`handlers drop\` it.
Of dead letters, those that are held hold up their key. A handler with a backfill is being given what was stored before
it (its \`from\`), some 1,000 runs ahead. A sink that fails (its breaker), or that asked for a pause,
is left alone for a while: a line under the table says since when, and why.`

/** `onchain-inbox handlers list|pause|resume|set|drop`. */
export function addHandlersCommand(program: Command): void {
  const handlers = program
    .command('handlers')
    .description('look at the handlers, pause them, let them go on, and change how much they run')

  const list = handlers.command('list').description('list the handlers with their open runs and dead letters')
  asEventCommand(list, 'handlers list')
    .addHelpText('after', columnsHelp)
    .action(async (options: EventCommandOptions) => {
      await withEvents(options, async (opened) =>
        printResult(await opened.call('listHandlers'), options, renderHandlers),
      )
    })

  addPauseCommand(handlers, 'pause', true, 'hand out no more runs; events go on being accepted, also after a restart')
  addPauseCommand(handlers, 'resume', false, 'hand out runs again, the oldest first')

  const set = handlers
    .command('set')
    .description('change a handler while it runs; it holds also after a restart')
    .argument('<name>', 'the name of a handler, as `handlers list` shows it')
    .requiredOption(
      '--concurrency <number>',
      'how many of its runs at once, or `default` for what it says itself',
      toConcurrency,
    )
  asEventCommand(set, 'handlers set wallet.large_trade --concurrency 2').action(
    async (name: string, options: SetOptions) => {
      await withEvents(options, async (opened) => {
        const concurrency = options.concurrency === 'default' ? null : options.concurrency
        const changed = await opened.call('changeHandler', { id: name, body: { concurrency } })
        printResult(changed, options, () => `${name}: ${renderConcurrency(changed.concurrency)}`)
      })
    },
  )

  const drop = handlers
    .command('drop')
    .description('end all open runs of a handler that was removed, or is to forget them')
    .argument('<name>', 'the name of a handler, as `handlers list` shows it')
    .requiredOption('--reason <text>', 'why; it is kept with each run')
  asEventCommand(drop, 'handlers drop old-handler --reason "replaced"').action(
    async (name: string, options: DropOptions) => {
      await withEvents(options, async (opened) => {
        const result = await opened.call('dropHandlerRuns', { id: name, body: { reason: options.reason } })
        const { dropped } = result
        printResult(result, options, () => (dropped === 1 ? '1 run was dropped' : `${dropped} runs were dropped`))
      })
    },
  )
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
        throw new InboxError('usage', message)
      }
      await withEvents(options, async (opened) => {
        const [one, all] = paused ? (['pauseHandler', 'pauseAll'] as const) : (['resumeHandler', 'resumeAll'] as const)
        const result = await (name === undefined ? opened.call(all) : opened.call(one, { id: name }))
        printResult(result, options, renderPaused)
      })
    },
  )
}

function renderConcurrency(concurrency: number | null): string {
  if (concurrency === null) return 'as many runs at once as it says itself'
  return concurrency === 1 ? 'one run at a time' : `at most ${concurrency} runs at once`
}

function toConcurrency(text: string): number | 'default' {
  return text === 'default' ? text : parseCount(text)
}

function renderPaused({ handler, paused }: PausedJson): string {
  const who = handler ?? 'all handlers together'
  return paused ? `paused: ${who}; what runs at the moment goes on` : `resumed: ${who}`
}

function renderState({ loaded, orphaned, paused, backfill }: HandlerJson, isAllPaused: boolean): string {
  const state = isAllPaused || paused ? 'paused' : loaded ? 'loaded' : orphaned ? 'orphaned' : 'not loaded'
  return backfill === null ? state : `${state}, backfill ${Math.floor(backfill * 100)} %`
}

function renderHandlers({ paused, data }: HandlerListJson): string {
  const rows = data.map((row) => [
    row.name,
    renderState(row, paused),
    renderAtOnce(row),
    ...[row.waiting, row.ready, row.suspect, row.running, row.held, row.dead].map(String),
  ])
  const head = ['handler', 'state', 'at once', 'waiting', 'ready', 'suspect', 'handed out', 'held', 'dead']
  const shut = data.flatMap((row) => (row.shut === null ? [] : [`${row.name}: ${renderShut(row.shut)}`]))
  const parts = [
    ...(paused ? ['All handlers are paused: `handlers resume --all`.'] : []),
    renderTable(head, rows),
    ...(shut.length === 0 ? [] : [shut.join('\n')]),
  ]
  return parts.join('\n\n')
}

function renderAtOnce({ settings, set_concurrency: set }: HandlerJson): string {
  return set === null ? String(settings?.concurrency ?? '-') : `${set}, set`
}

/** Why a sink is left alone. */
function renderShut({ reason, since, until, failures, error }: ShutJson): string {
  if (reason === 'pause') return `it asked for a pause at ${since}; its items wait until ${until}`
  const sends = counted(failures, 'send')
  const last = error === null ? '' : `, the last with: ${error}`
  return `it fails, and is left alone since ${since}; ${sends} in a row failed${last}; one item is tried from ${until} on`
}
