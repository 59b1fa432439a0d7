import type { Command } from 'commander'
import type { HandlerJson, HandlerListJson, PausedJson, ShutJson, TriedJson } from '../admin/handlers.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { asCallCommand, asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { asGroup, counted, printResult, renderTable } from './output.ts'

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
States of open runs:
  waiting     blocked by an earlier run with the same key
  ready       can start now, or retries later
  suspect     was running when a thread crashed; retried one at a time
  handed out  claimed by a handler thread (\`running\` with --json): in flight, or next in line
Columns:
  at once     maximum of concurrent runs; \`set\` if changed with \`handlers set\`
  held        dead letters that block their key
An \`orphaned\` handler has open runs, but no running process has it: restore it, or use \`handlers drop\`.
A \`backfill\` gives a new handler the events stored before it (its \`from\`), about 1,000 runs ahead.
A sink that fails (circuit breaker) or asked for a pause isn't called for a while: a line below the table says why.`

/** `onchain-inbox handlers list|pause|resume|set|try|drop`. */
export function addHandlersCommand(program: Command): void {
  const handlers = asGroup(
    program.command('handlers').description('List, pause, resume, change and drop handlers'),
    'handlers list',
  )

  const list = handlers.command('list').description('List handlers with their open runs and dead letters')
  asCallCommand(list, 'listHandlers', { example: 'handlers list', render: renderHandlers })
  list.addHelpText('after', columnsHelp)

  addPauseCommand(handlers, 'pause', true, 'Pause a handler: events are stored, and no run starts')
  addPauseCommand(handlers, 'resume', false, 'Resume a handler, oldest runs first')

  const set = handlers
    .command('set')
    .description('Change a handler, also across restarts')
    .argument('<name>', 'handler name, as in `handlers list`')
    .requiredOption('--concurrency <number>', 'maximum concurrent runs, or `default` to undo a change', toConcurrency)
  asCallCommand(set, 'changeHandler', {
    example: 'handlers set wallet.large_trade --concurrency 2',
    toRequest: (id: string, { concurrency }: SetOptions) => ({
      id,
      body: { concurrency: concurrency === 'default' ? null : concurrency },
    }),
    render: ({ handler, concurrency }) => `${handler}: ${renderConcurrency(concurrency)}`,
  })

  const tryNow = handlers
    .command('try')
    .description('Send one item of a sink whose breaker is open')
    .argument('<name>', 'sink name, as in `handlers list`')
  asEventCommand(tryNow, 'handlers try desk').action(async (name: string, options: EventCommandOptions) => {
    await withEvents(options, async (opened) =>
      printResult(await opened.call('tryHandler', { id: name }), options, renderTried),
    )
  })

  const drop = handlers
    .command('drop')
    .description('Drop all open runs of a handler')
    .argument('<name>', 'handler name, as in `handlers list`')
    .requiredOption('--reason <text>', 'why; stored with each run')
  asCallCommand(drop, 'dropHandlerRuns', {
    example: 'handlers drop old-handler --reason "replaced"',
    toRequest: (id: string, { reason }: DropOptions) => ({ id, body: { reason } }),
    render: ({ dropped }) => (dropped === 1 ? '1 run was dropped' : `${dropped} runs were dropped`),
  })
}

function addPauseCommand(handlers: Command, verb: string, paused: boolean, description: string): void {
  const command = handlers
    .command(verb)
    .description(description)
    .argument('[name]', 'handler name, as in `handlers list`')
    .option('--all', 'all handlers; those paused one by one stay paused')
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

const triedWords: Readonly<Record<TriedJson['results'][number]['result'], string>> = {
  sent: 'sent one item, the breaker is closed',
  failed: 'failed',
  idle: 'has nothing to send',
  closed: 'the breaker is not open',
  unanswered: 'gave no result in time',
}

function renderTried({ results }: TriedJson): string {
  return results
    .map(({ replica, result, error }) => `${replica}: ${triedWords[result]}${error === null ? '' : `: ${error}`}`)
    .join('\n')
}

function renderConcurrency(concurrency: number | null): string {
  if (concurrency === null) return 'default concurrency'
  return concurrency === 1 ? 'one run at a time' : `up to ${concurrency} concurrent runs`
}

function toConcurrency(text: string): number | 'default' {
  return text === 'default' ? text : parseCount(text)
}

function renderPaused({ handler, paused }: PausedJson): string {
  const who = handler ?? 'all handlers'
  return paused ? `paused: ${who}; runs in flight finish` : `resumed: ${who}`
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

/** Why a sink isn't called at the moment. */
function renderShut({ reason, since, until, failures, error }: ShutJson): string {
  if (reason === 'pause') return `paused itself at ${since} until ${until}`
  const sends = counted(failures, 'send')
  const last = error === null ? '' : `, the last with: ${error}`
  return `not called since ${since}: ${sends} failed in a row${last}; next try at ${until}`
}
