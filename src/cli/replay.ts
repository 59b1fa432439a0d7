import type { Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type { ReplayJson } from '../admin/replays.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount, time } from './arguments.ts'
import {
  addCallCommand,
  addInboxCommand,
  addListCommand,
  definedOf,
  inboxCommandLine,
  noteUnknownNames,
  option,
  type InboxOptions,
} from './inbox-command.ts'
import type { InboxCalls } from './inbox-calls.ts'
import { withExamples, counted, printResult, createProgress } from './output.ts'
import { renderRecord } from './table.ts'

const filters = [
  option('--source <name>', 'events of this source'),
  option('--type <type>', 'events of this type'),
  option('--network <network>', 'events on this network'),
  option('--address <address>', 'events about this token, wallet or contract'),
  option('--status <status>', 'events with this status: dead, done, unhandled … (see `events list --help`)'),
  option('--from <time>', 'events received at or after this time: ISO 8601, or an age such as 2h', time),
  option('--to <time>', 'events received before this time', time),
  option('--handler <name>', 'only with this handler'),
]
const filterNames = filters.map((filter) => filter.attributeName())

interface ReplayOptions extends InboxOptions {
  readonly dryRun?: boolean
  readonly rate?: number
  readonly newKeys?: boolean
  readonly wait?: boolean
}

const pollMs = 500

/** `onchain-inbox replay`: runs handlers on stored events again. */
export function addReplayCommand(program: Command): void {
  const usage = {
    description: 'Replay stored events, after all live work',
    argument: ['[id...]', 'event ids'],
    options: [
      ...filters,
      option('--dry-run', 'only count the events'),
      option('--rate <number>', 'limit of runs per second', parseCount),
      option('--new-keys', 'use new idempotency keys, so that receivers which deduplicate by them act again'),
      option('--wait', 'wait until the replay has finished'),
    ],
    example: 'replay --type wallet.large_trade --from 2026-01-31 --dry-run',
  } as const
  addInboxCommand<readonly string[] | undefined, ReplayOptions>(program, 'replay', usage, (ids = [], options) => {
    const body = toBody(ids, options)
    noteUnknownNames(definedOf(options, filterNames))
    return async (opened) => {
      if (options.wait && !opened.isLive) {
        throw new InboxError(
          'admin_unreachable',
          'no sidecar is running to execute the replay: start `onchain-inbox serve`, or omit --wait to start it with the next ' +
            'sidecar',
        )
      }
      const started = await opened.call('startReplay', { body })
      const ended = options.wait && !('dry_run' in started) ? await waitFor(opened, started) : started
      printResult(ended, options, (result) => {
        if (!('dry_run' in result)) return renderReplay(result, options)
        const skipped = result.skipped === 0 ? '' : `; the bodies of ${result.skipped} more are deleted`
        return `${counted(result.events - result.skipped, 'event')} would be replayed${skipped}`
      })
    }
  })
}

/** `onchain-inbox replays list|show|cancel`. */
export function addReplaysCommand(program: Command): void {
  const replays = withExamples(program.command('replays').description('List and cancel replays'), ['replays list'])
  addListCommand(replays, 'list', 'listReplays', {
    description: 'List replays, newest first',
    example: 'replays list',
    columns: 'id created_at state progress runs open_runs filter',
    none: 'no replays',
  })
  addCallCommand(replays, 'show', 'getReplay', {
    description: 'Show the progress of a replay',
    argument: ['<id>', 'number of the replay'],
    example: 'replays show 3',
    render: renderReplay,
  })
  addCallCommand(replays, 'cancel', 'cancelReplay', {
    description: 'Cancel a replay and drop its pending runs',
    argument: ['<id>', 'number of the replay'],
    example: 'replays cancel 3',
    render({ cancelled, ...replay }, options) {
      const note = cancelled ? '' : `replay ${replay.id} has already ended: nothing was cancelled\n\n`
      return `${note}${renderReplay(replay, options)}`
    },
  })
}

function toBody(ids: readonly string[], options: ReplayOptions): Readonly<Record<string, unknown>> {
  const filter = definedOf(options, filterNames)
  if (ids.length + Object.keys(filter).length === 0) {
    throw new InboxError('usage', `expected event ids, or at least one of --${filterNames.join(', --')}`)
  }
  return {
    ...(ids.length > 0 && { ids }),
    ...filter,
    dryRun: options.dryRun ?? false,
    per_second: options.rate ?? null,
    new_keys: options.newKeys ?? false,
  }
}

/** Follows a replay to its end. */
async function waitFor(opened: InboxCalls, started: ReplayJson): Promise<ReplayJson> {
  using progress = createProgress()
  for (let replay = started; ; replay = await opened.call('getReplay', { id: String(started.id) })) {
    if (replay.state !== 'running') return replay
    progress.show(replay.progress, `replay ${replay.id}: ${replay.runs} runs, ${replay.open_runs} open`)
    await wait(pollMs)
  }
}

function renderReplay(replay: ReplayJson, options: InboxOptions): string {
  const follow = `\n\nfollow it: ${inboxCommandLine(`replays show ${replay.id}`, options)}`
  return `${renderRecord('replay', replay)}${replay.state === 'running' ? follow : ''}`
}
