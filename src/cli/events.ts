import type { Command } from 'commander'
import type { AttemptJson, EventDetailJson, EventSummaryJson } from '../admin/events.ts'
import { safeText } from '../base/log.ts'
import { handlerFrame } from '../inbox/error-group.ts'
import { time } from './arguments.ts'
import { asEventCommand, asListCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { addEventsTailCommand } from './events-tail.ts'
import { asGroup, printRaw, printResult, renderTable } from './output.ts'

const statusHelp =
  'pending, running, retrying, held (dead letter that blocks its key), dead, dropped, done, expired, superseded or unhandled (no ' +
  'handler)'

interface ShowOptions extends EventCommandOptions {
  readonly raw?: boolean
}

/** `onchain-inbox events list|show|tail`: reads stored events. */
export function addEventsCommand(program: Command): void {
  const events = asGroup(
    program.command('events').description('List, show and follow stored events'),
    'events list --from 2h',
  )

  const list = events
    .command('list')
    .description('List events, newest first')
    .option('--type <type>', 'only this event type')
    .option('--network <network>', 'only this network')
    .option('--address <address>', 'only this token, wallet or contract')
    .option('--status <status>', statusHelp)
    .option('--q <words>', 'only bodies with all of these words')
    .option('--from <time>', 'received at or after this time: ISO 8601, or an age such as 2h', time)
    .option('--to <time>', 'received before this time', time)
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
    .description('Show an event with its envelope, receipt and runs')
    .argument('<id>', 'event id of the sender')
    .option('--raw', 'write only the exact bytes received')
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
    ['duplicates', String(receipt.duplicates)],
    ['conflicts', String(receipt.conflicts)],
  ].map(([name = '', value = '']) => [name, safeText(value)])
  if (event.pruned) {
    return `${renderTable(['event', ''], facts)}\n\npruned: its body and runs are deleted; its final status is ${event.status}`
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
      ? 'no handler ran'
      : renderTable(['run', 'handler', 'state', 'attempts', 'next at', 'replay'], runRows),
    ...(timeline.length === 0 ? [] : [renderTimeline(timeline)]),
    envelope.map((line) => safeText(line, Infinity)).join('\n'),
  ].join('\n\n')
}

function renderTimeline(timeline: readonly AttemptJson[]): string {
  const rows = timeline.flatMap(({ started_at, replay, handler, attempt, outcome, error }) => {
    const row = [started_at, replay === null ? '-' : String(replay), handler, String(attempt), outcome]
    if (error === null) return [row]
    const place = handlerFrame(error.stack)
    return [
      [...row, safeText(`${error.name}: ${error.message}`, 120)],
      ...(place === undefined ? [] : [['', '', '', '', '', safeText(place)]]),
    ]
  })
  return renderTable(['started', 'replay', 'handler', 'attempt', 'outcome', 'error'], rows)
}
