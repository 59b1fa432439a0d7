import type { Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type { CancelledJson, ReplayCountJson, ReplayJson } from '../admin/replays.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { parseCount, time } from './arguments.ts'
import {
  asCallCommand,
  asEventCommand,
  asListCommand,
  definedOf,
  eventCommandLine,
  noteUnknownNames,
  withEvents,
  type EventCommandOptions,
} from './event-command.ts'
import type { OpenedEvents } from './open-events.ts'
import { asGroup, counted, printResult } from './output.ts'
import { createProgress } from './screen.ts'

const filterNames = ['type', 'network', 'address', 'status', 'from', 'to', 'handler'] as const

interface ReplayOptions extends EventCommandOptions, Partial<Record<(typeof filterNames)[number], string>> {
  readonly dryRun?: boolean
  readonly rate?: number
  readonly newKeys?: boolean
  readonly wait?: boolean
}

const pollMs = 500

/** `onchain-inbox replay`: runs handlers on stored events again. */
export function addReplayCommand(program: Command): void {
  const replay = program
    .command('replay')
    .description('Replay stored events, after all live work')
    .argument('[id...]', 'event ids')
    .option('--type <type>', 'events of this type')
    .option('--network <network>', 'events on this network')
    .option('--address <address>', 'events about this token, wallet or contract')
    .option('--status <status>', 'events with this status: dead, done, unhandled … (see `events list --help`)')
    .option('--from <time>', 'events received at or after this time: ISO 8601, or an age such as 2h', time)
    .option('--to <time>', 'events received before this time', time)
    .option('--handler <name>', 'only with this handler')
    .option('--dry-run', 'only count the events')
    .option('--rate <number>', 'limit of runs per second', parseCount)
    .option('--new-keys', 'use new idempotency keys, so that receivers which deduplicate by them act again')
    .option('--wait', 'wait until the replay has finished')
  asEventCommand(replay, 'replay --type wallet.large_trade --from 2026-01-31 --dry-run').action(
    async (ids: readonly string[], options: ReplayOptions) => {
      noteUnknownNames(options)
      await withEvents(options, async (opened) => {
        if (options.wait && !opened.isLive) {
          throw new InboxError(
            'admin_unreachable',
            'no sidecar is running to execute the replay: start `onchain-inbox serve`, or omit --wait to start it with the next ' +
              'sidecar',
          )
        }
        const started = await opened.call('startReplay', { body: toBody(ids, options) })
        if ('dry_run' in started) return printResult(started, options, renderCount)
        const shown = options.wait ? await waitFor(opened, started) : started
        printResult(shown, options, (replay) => renderReplay(replay, options))
      })
    },
  )
}

/** `onchain-inbox replays list|show|cancel`. */
export function addReplaysCommand(program: Command): void {
  const replays = asGroup(program.command('replays').description('List and cancel replays'), 'replays list')

  const list = replays.command('list').description('List replays, newest first')
  asListCommand<ReplayJson>(list, {
    example: 'replays list',
    fetch: (opened, query) => opened.call('listReplays', { query }),
    none: 'no replays',
    columns: {
      replay: ({ id }) => String(id),
      started: (replay) => replay.created_at,
      state: ({ state }) => state,
      progress: ({ progress }) => `${Math.floor(progress * 100)} %`,
      runs: ({ runs }) => String(runs),
      open: (replay) => String(replay.open_runs),
      'of events': (replay) => safeText(describeFilter(replay), 100),
    },
  })

  const show = replays
    .command('show')
    .description('Show the progress of a replay')
    .argument('<id>', 'number of the replay')
  asCallCommand(show, 'getReplay', { example: 'replays show 3', render: renderReplay })

  const cancel = replays
    .command('cancel')
    .description('Cancel a replay and drop its pending runs')
    .argument('<id>', 'number of the replay')
  asCallCommand(cancel, 'cancelReplay', { example: 'replays cancel 3', render: renderCancelled })
}

function toBody(ids: readonly string[], options: ReplayOptions): Readonly<Record<string, unknown>> {
  const given = definedOf(options, filterNames)
  if (ids.length + Object.keys(given).length === 0) {
    throw new InboxError('usage', `expected event ids, or at least one of --${filterNames.join(', --')}`)
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
    await wait(pollMs)
  }
}

function renderCount({ events, skipped }: ReplayCountJson): string {
  const found = counted(events, 'event')
  return skipped === 0 ? `${found} would be replayed` : `${found} found; the bodies of ${skipped} are deleted`
}

function renderReplay(replay: ReplayJson, options: EventCommandOptions): string {
  const rows = [
    ['replay', String(replay.id)],
    ['state', replay.state],
    ['of events', describeFilter(replay)],
    ['progress', `${Math.floor(replay.progress * 100)} %`],
    ['events found', String(replay.events)],
    ['bodies deleted', String(replay.skipped)],
    ['runs', `${replay.runs}, ${replay.open_runs} open`],
    ['rate', replay.per_second === null ? 'unlimited' : `${replay.per_second} per second`],
    ['idempotency keys', replay.new_keys ? 'new' : 'unchanged'],
    ['started', replay.created_at],
    ['ended', replay.ended_at ?? '-'],
  ]
  const follow = `\n\nfollow it: ${eventCommandLine(`replays show ${replay.id}`, options)}`
  const hint = replay.state === 'running' ? follow : ''
  return `${rows.map(([name = '', value = '']) => `${name.padEnd(18)}${safeText(value)}`).join('\n')}${hint}`
}

function renderCancelled(replay: CancelledJson, options: EventCommandOptions): string {
  const note = replay.cancelled ? '' : `replay ${replay.id} has already ended: nothing was cancelled\n\n`
  return `${note}${renderReplay(replay, options)}`
}

function describeFilter({ filter }: ReplayJson): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(', ') : String(value)}`)
    .join('; ')
}
