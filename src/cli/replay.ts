import type { Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type { CancelledJson, ReplayCountJson, ReplayJson } from '../admin/replays.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { parseCount } from './arguments.ts'
import {
  asEventCommand,
  asListCommand,
  definedOf,
  noteUnknownNames,
  withEvents,
  type EventCommandOptions,
} from './event-command.ts'
import type { OpenedEvents } from './open-events.ts'
import { counted, printResult } from './output.ts'
import { createProgress } from './screen.ts'

const filterNames = ['type', 'network', 'address', 'status', 'from', 'to', 'handler'] as const

interface ReplayOptions extends EventCommandOptions, Partial<Record<(typeof filterNames)[number], string>> {
  readonly dryRun?: boolean
  readonly rate?: number
  readonly newKeys?: boolean
  readonly wait?: boolean
}

const lookMs = 500

/** `onchain-inbox replay`: has stored events handled again. */
export function addReplayCommand(program: Command): void {
  const replay = program
    .command('replay')
    .description('have stored events handled again, behind all live work; what is given chooses them together')
    .argument('[id...]', 'ids of events')
    .option('--type <type>', 'of this type')
    .option('--network <network>', 'on this network')
    .option('--address <address>', 'about this token, wallet or contract')
    .option('--status <status>', 'that are dead, done, unhandled … (see `events list --help`)')
    .option('--from <time>', 'received at this time (ISO 8601) or later')
    .option('--to <time>', 'received before this time (ISO 8601)')
    .option('--handler <name>', 'by this handler only')
    .option('--dry-run', 'only count the events')
    .option('--rate <number>', 'runs per second', parseCount)
    .option(
      '--new-keys',
      'give the runs idempotency keys of their own, so that whoever knows repeats by them does all again',
    )
    .option('--wait', 'wait until all of it is done')
  asEventCommand(replay, 'replay --type wallet.large_trade --from 2026-01-31 --dry-run').action(
    async (ids: readonly string[], options: ReplayOptions) => {
      noteUnknownNames(options)
      await withEvents(options, async (opened) => {
        if (options.wait && !opened.isLive) {
          throw new InboxError(
            'admin_unreachable',
            'no sidecar is running that could work on the replay: start `onchain-inbox serve`, or leave out --wait; then the replay begins ' +
              'as soon as one runs',
          )
        }
        const started = await opened.call('startReplay', { body: toBody(ids, options) })
        if ('dry_run' in started) return printResult(started, options, renderCount)
        const shown = options.wait ? await waitFor(opened, started) : started
        printResult(shown, options, renderReplay)
      })
    },
  )
}

/** `onchain-inbox replays list|show|cancel`. */
export function addReplaysCommand(program: Command): void {
  const replays = program.command('replays').description('look at replays, and cancel them')

  const list = replays.command('list').description('list replays, newest first')
  asListCommand<ReplayJson>(list, {
    example: 'replays list',
    fetch: (opened, query) => opened.call('listReplays', { query }),
    none: 'no replays',
    columns: {
      replay: ({ id }) => String(id),
      started: (replay) => replay.created_at,
      state: ({ state }) => state,
      'looked at': ({ progress }) => `${Math.floor(progress * 100)} %`,
      runs: ({ runs }) => String(runs),
      open: (replay) => String(replay.open_runs),
      'of events': (replay) => safeText(describeFilter(replay), 100),
    },
  })

  const show = replays.command('show').description('show how far a replay is').argument('<id>', 'its number')
  asEventCommand(show, 'replays show 3').action(async (id: string, options: EventCommandOptions) => {
    await withEvents(options, async (opened) =>
      printResult(await opened.call('getReplay', { id }), options, renderReplay),
    )
  })

  const cancel = replays
    .command('cancel')
    .description('create no more runs of a replay, and drop those that wait')
    .argument('<id>', 'its number')
  asEventCommand(cancel, 'replays cancel 3').action(async (id: string, options: EventCommandOptions) => {
    await withEvents(options, async (opened) =>
      printResult(await opened.call('cancelReplay', { id }), options, renderCancelled),
    )
  })
}

function toBody(ids: readonly string[], options: ReplayOptions): Readonly<Record<string, unknown>> {
  const given = definedOf(options, filterNames)
  if (ids.length + Object.keys(given).length === 0) {
    throw new InboxError('usage', `expected ids of events, or at least one of --${filterNames.join(', --')}`)
  }
  return {
    ...(ids.length > 0 && { ids }),
    ...given,
    dryRun: options.dryRun ?? false,
    per_second: options.rate ?? null,
    new_keys: options.newKeys ?? false,
  }
}

/** Follows a replay to its end. */
async function waitFor(opened: OpenedEvents, started: ReplayJson): Promise<ReplayJson> {
  using progress = createProgress()
  for (let replay = started; ; replay = await opened.call('getReplay', { id: String(started.id) })) {
    if (replay.state !== 'running') return replay
    progress.show(replay.progress, `replay ${replay.id}: ${replay.runs} runs, ${replay.open_runs} open`)
    await wait(lookMs)
  }
}

function renderCount({ events, skipped }: ReplayCountJson): string {
  const found = counted(events, 'event')
  return skipped === 0 ? `${found} would be replayed` : `${found} found; of ${skipped} the body is no longer kept`
}

function renderReplay(replay: ReplayJson): string {
  const rows = [
    ['replay', String(replay.id)],
    ['state', replay.state],
    ['of events', describeFilter(replay)],
    ['looked at', `${Math.floor(replay.progress * 100)} %`],
    ['events found', String(replay.events)],
    ['bodies gone', String(replay.skipped)],
    ['runs', `${replay.runs}, of which open ${replay.open_runs}`],
    ['rate', replay.per_second === null ? 'as fast as it goes' : `${replay.per_second} per second`],
    ['idempotency keys', replay.new_keys ? 'new ones' : 'the same'],
    ['started', replay.created_at],
    ['ended', replay.ended_at ?? '-'],
  ]
  const hint = replay.state === 'running' ? `\n\nfollow it: onchain-inbox replays show ${replay.id}` : ''
  return `${rows.map(([name = '', value = '']) => `${name.padEnd(18)}${safeText(value)}`).join('\n')}${hint}`
}

function renderCancelled(replay: CancelledJson): string {
  const said = replay.cancelled ? '' : `replay ${replay.id} had ended already: nothing was cancelled\n\n`
  return `${said}${renderReplay(replay)}`
}

function describeFilter({ filter }: ReplayJson): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(', ') : String(value)}`)
    .join('; ')
}
