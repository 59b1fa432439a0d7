import type { Command } from 'commander'
import type { AttemptJson, EventDetailJson, EventSummaryJson } from '../admin/events.ts'
import { safeText } from '../base/log.ts'
import { asEventCommand, asListCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { addEventsTailCommand } from './events-tail.ts'
import { printRaw, printResult, renderTable, counted } from './output.ts'

const statusHelp =
  'pending (not tried yet), running, retrying (an attempt failed, another one follows), held or dead (a handler was given up: ' +
  'see `dead list`), dropped (by an operator, for a handler at least), done (all its handlers are), expired, superseded or unhandled (no ' +
  'handler took it)'

interface ShowOptions extends EventCommandOptions {
  readonly raw?: boolean
}

/** `onchain-inbox events list|show|tail`: reads what is stored. */
export function addEventsCommand(program: Command): void {
  const events = program.command('events').description('look at stored events')

  const list = events
    .command('list')
    .description('list events, newest first')
    .option('--type <type>', 'of this type')
    .option('--network <network>', 'on this network')
    .option('--address <address>', 'about this token, wallet or contract')
    .option('--status <status>', statusHelp)
    .option('--q <words>', 'with all of these terms anywhere in the body')
    .option('--from <time>', 'received at this time (ISO 8601) or later')
    .option('--to <time>', 'received before this time (ISO 8601)')
  asListCommand<EventSummaryJson>(list, {
    filters: ['type', 'network', 'address', 'status', 'q', 'from', 'to'],
    example: 'events list --type wallet.large_trade --status dead --from 2026-01-31',
    fetch: (opened, query) => opened.call('listEvents', { query }),
    none: 'no events',
    columns: {
      received: (event) => event.received_at,
      status: (event) => event.status,
      type: (event) => safeText(event.type),
      network: (event) => safeText(event.network ?? '-'),
      address: (event) => safeText(event.address ?? '-'),
      id: (event) => safeText(event.id),
    },
  })

  const show = events
    .command('show')
    .description('show an event: the envelope, its receipt, and what its handlers did')
    .argument('<id>', "the sender's id of the event")
    .option('--raw', 'write the exact bytes that came, and nothing else')
  asEventCommand(show, 'events show evt_01jgfj3k8m0q2s4v6x8z0b2d4f').action(
    async (id: string, options: ShowOptions) => {
      await withEvents(options, async (opened) => {
        if (options.raw) printRaw(await opened.rawEvent(id))
        else printResult(await opened.call('getEvent', { id }), options, renderEvent)
      })
    },
  )
  addEventsTailCommand(events, statusHelp)
}

function renderEvent(event: EventDetailJson): string {
  const { receipt, runs, timeline } = event
  const facts = [
    ['id', event.id],
    ['type', event.type],
    ['status', event.status],
    ['key', event.key],
    ['created', event.created_at],
    ['received', receipt.received_at],
    ['sequence number', String(event.seq)],
    ['verified by secret', receipt.secret_label],
    ...(event.pruned ? [] : [['size', `${receipt.size_bytes} bytes`]]),
    ['came again', `${counted(receipt.duplicates, 'time')}, with another body ${counted(receipt.conflicts, 'time')}`],
  ].map(([name = '', value = '']) => [name, safeText(value)])
  if (event.pruned) {
    return `${renderTable(['event', ''], facts)}\n\npruned: its body and its runs are no longer kept; it ended as ${event.status}`
  }
  const runRows = runs.map((run) => [
    String(run.run_id),
    run.handler,
    run.state,
    String(run.attempt),
    run.run_at ?? '-',
    run.replay === null ? '-' : String(run.replay),
  ])
  const envelope = JSON.stringify(event.envelope, null, 2).split('\n')
  return [
    renderTable(['event', ''], facts),
    runs.length === 0
      ? 'no handler took it'
      : renderTable(['run', 'handler', 'state', 'attempts', 'next at', 'replay'], runRows),
    ...(timeline.length === 0 ? [] : [renderTimeline(timeline)]),
    envelope.map((line) => safeText(line, Infinity)).join('\n'),
  ].join('\n\n')
}

function renderTimeline(timeline: readonly AttemptJson[]): string {
  const rows = timeline.flatMap(({ started_at, replay, handler, attempt, outcome, error }) => {
    const row = [started_at, replay === null ? '-' : String(replay), handler, String(attempt), outcome]
    if (error === null) return [row]
    const place = findPlace(error.stack ?? '')
    return [
      [...row, safeText(`${error.name}: ${error.message}`, 120)],
      ...(place === undefined ? [] : [['', '', '', '', '', safeText(place)]]),
    ]
  })
  return renderTable(['started', 'replay', 'handler', 'attempt', 'outcome', 'error'], rows)
}

const ourFiles = new URL('..', import.meta.url).href

/** The line of a stack that is most likely the user's own: the first that is not in Node, in a package, or in a file of ours. */
function findPlace(stack: string): string | undefined {
  const frames = stack.split('\n').filter((line) => /^ +at .*\/.*:\d+:\d+\)?$/.test(line))
  const isForeign = (line: string) => /node:|\/node_modules\//.test(line) || line.includes(ourFiles)
  return frames
    .find((line) => !isForeign(line))
    ?.trim()
    .replace('file://', '')
}
