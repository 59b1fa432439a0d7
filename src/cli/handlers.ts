import type { Command } from 'commander'
import type { HandlerJson, HandlerListJson, ShutJson, TriedJson } from '../admin/handlers.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { addCallCommand, addInboxCommand, option, type InboxOptions } from './inbox-command.ts'
import { withExamples, counted, printResult } from './output.ts'
import { renderList } from './table.ts'

const columnsHelp = `
States of open runs:
  waiting     blocked by an earlier run with the same key
  ready       can start now, or retries later
  suspect     was running when a thread crashed; retried one at a time
  running     claimed by a handler thread: in flight, or next in line
Columns:
  at once     maximum of concurrent runs; \`set\` if changed with \`handlers set\`
  held        dead letters that block their key
An \`orphaned\` handler has open runs, but no running process has it: restore it, or use \`handlers drop\`.
A \`backfill\` gives a new handler the events stored before it (its \`from\`), about 1,000 runs ahead.
A sink that fails (circuit breaker) or asked for a pause isn't called for a while: a line below the table says why.`

const byName = ['<name>', 'handler name, as in `handlers list`'] as const

/** `onchain-inbox handlers list|pause|resume|set|try|drop`. */
export function addHandlersCommand(program: Command): void {
  const handlers = withExamples(
    program.command('handlers').description('List, pause, resume, change and drop handlers'),
    ['handlers list'],
  )
  addCallCommand(handlers, 'list', 'listHandlers', {
    description: 'List handlers with their open runs and dead letters',
    example: 'handlers list',
    render: renderHandlers,
  })
  handlers.commands[0]?.addHelpText('after', columnsHelp)
  addPauseCommand(handlers, 'pause', 'Pause a handler: events are stored, and no run starts')
  addPauseCommand(handlers, 'resume', 'Resume a handler, oldest runs first')
  addCallCommand(handlers, 'set', 'changeHandler', {
    description: 'Change a handler, also across restarts',
    argument: byName,
    options: [
      option(
        '--concurrency <number>',
        'maximum concurrent runs, or `default` to undo a change',
        toConcurrency,
      ).makeOptionMandatory(),
    ],
    example: 'handlers set wallet.large_trade --concurrency 2',
    toRequest: (id: string, { concurrency }: InboxOptions & { readonly concurrency: number | 'default' }) => ({
      id,
      body: { concurrency: concurrency === 'default' ? null : concurrency },
    }),
    render: ({ handler, concurrency }) =>
      `${handler}: ${concurrency === null ? 'default concurrency' : counted(concurrency, 'run at a time', 'concurrent runs')}`,
  })
  addCallCommand(handlers, 'try', 'tryHandler', {
    description: 'Send one item of a sink whose breaker is open',
    argument: ['<name>', 'sink name, as in `handlers list`'],
    example: 'handlers try desk',
    render: renderTried,
  })
  addCallCommand(handlers, 'drop', 'dropHandlerRuns', {
    description: 'Drop all open runs of a handler',
    argument: byName,
    options: [option('--reason <text>', 'why; stored with each run').makeOptionMandatory()],
    example: 'handlers drop old-handler --reason "replaced"',
    toRequest: (id: string, { reason }: InboxOptions & { readonly reason: string }) => ({ id, body: { reason } }),
    render: ({ dropped }) => counted(dropped, 'run was dropped', 'runs were dropped'),
  })
}

function addPauseCommand(handlers: Command, verb: 'pause' | 'resume', description: string): void {
  const usage = {
    description,
    argument: ['[name]', byName[1]],
    options: [option('--all', 'all handlers; those paused one by one stay paused')],
    example: `handlers ${verb} wallet.large_trade`,
  } as const
  type PauseOptions = InboxOptions & { readonly all?: boolean }
  addInboxCommand<string | undefined, PauseOptions>(handlers, verb, usage, (id, options) => {
    if ((options.all ?? false) === (id !== undefined)) {
      throw new InboxError('usage', 'expected either the name of a handler, as `handlers list` shows it, or --all')
    }
    return async (opened) =>
      printResult(
        await (id === undefined ? opened.call(`${verb}All`) : opened.call(`${verb}Handler`, { id })),
        options,
        ({ handler, paused, shut }) =>
          `${paused ? 'paused' : 'resumed'}: ${handler ?? 'all handlers'}${paused ? '; runs in flight finish' : ''}` +
          (shut?.reason === 'breaker' && !paused
            ? `\nIts breaker is still open: next try at ${shut.until}, or at once with \`handlers try ${handler}\``
            : ''),
      )
  })
}

const triedWords: Readonly<Record<TriedJson['result'], string>> = {
  sent: 'sent one item, the breaker is closed',
  failed: 'failed',
  idle: 'has nothing to send',
  closed: 'the breaker is not open',
  unanswered: 'gave no result in time',
}

function renderTried({ handler, result, error }: TriedJson): string {
  return `${handler}: ${triedWords[result]}${error === null ? '' : `: ${error}`}`
}

function toConcurrency(text: string): number | 'default' {
  return text === 'default' ? text : parseCount(text)
}

function renderHandlers({ paused, data }: HandlerListJson): string {
  const rows = data.map(({ set_concurrency: set, settings, ...row }) => ({
    ...row,
    handler: row.name,
    state: renderState(row, paused),
    'at once': set === null ? (settings?.concurrency ?? null) : `${set}, set`,
  }))
  const head = ['handler', 'state', 'at once', 'waiting', 'ready', 'suspect', 'running', 'held', 'dead']
  const shut = data.flatMap((row) => (row.shut === null ? [] : [`${row.name}: ${renderShut(row.shut)}`]))
  return [
    ...(paused ? ['All handlers are paused: `handlers resume --all`.'] : []),
    renderList(head, rows),
    ...(shut.length === 0 ? [] : [shut.join('\n')]),
  ].join('\n\n')
}

type State = Pick<HandlerJson, 'loaded' | 'orphaned' | 'paused' | 'backfill'>

function renderState({ loaded, orphaned, paused, backfill }: State, isAllPaused: boolean): string {
  const state = isAllPaused || paused ? 'paused' : loaded ? 'loaded' : orphaned ? 'orphaned' : 'not loaded'
  return backfill === null ? state : `${state}, backfill ${Math.floor(backfill * 100)} %`
}

/** Why a sink isn't called at the moment. */
export function renderShut({ reason, since, until, failures, error }: ShutJson): string {
  if (reason === 'pause') return `paused itself at ${since} until ${until}`
  const last = error === null ? '' : `, the last with: ${error}`
  return `not called since ${since}: ${counted(failures, 'send')} failed in a row${last}; next try at ${until}`
}
