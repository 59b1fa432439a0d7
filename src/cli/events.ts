import type { Command } from 'commander'
import type { AttemptJson, EventDetailJson } from '../admin/events.ts'
import { safeText } from '../base/log.ts'
import { handlerFrame } from '../inbox/error-group.ts'
import { time } from './arguments.ts'
import { addInboxCommand, addListCommand, option, type InboxOptions } from './inbox-command.ts'
import { addEventsTailCommand } from './events-tail.ts'
import { withExamples, printRaw, printResult } from './output.ts'
import { renderList, renderRecord } from './table.ts'

const statusHelp =
  'pending, running, retrying, held (dead letter that blocks its key), dead, dropped, done, expired, superseded or unhandled (no ' +
  'handler)'

const filters = [
  option('--source <name>', 'only this source; default = the one of the INBOX_ settings'),
  option('--type <type>', 'only this event type'),
  option('--network <network>', 'only this network'),
  option('--address <address>', 'only this token, wallet or contract'),
]

/** `onchain-inbox events list|show|tail`: reads stored events. */
export function addEventsCommand(program: Command): void {
  const events = withExamples(program.command('events').description('List, show and follow stored events'), [
    'events list --from 2h',
  ])
  addListCommand(events, 'list', 'listEvents', {
    description: 'List events, newest first',
    options: [
      ...filters,
      option('--status <status>', statusHelp),
      option('--q <words>', 'only bodies with all of these words'),
      option('--from <time>', 'received at or after this time: ISO 8601, or an age such as 2h', time),
      option('--to <time>', 'received before this time', time),
    ],
    example: 'events list --type wallet.large_trade --status dead --from 2026-01-31',
    columns: 'received_at status source type network address id',
    none: 'no events',
  })
  const show = {
    description: 'Show an event with its envelope, receipt and runs',
    argument: ['<id>', 'event id of the sender'],
    options: [option('--raw', 'write only the exact bytes received')],
    example: 'events show evt_01jgfj3k8m0q2s4v6x8z0b2d4f',
  } as const
  addInboxCommand<string, InboxOptions & { readonly raw?: boolean }>(
    events,
    'show',
    show,
    (id, options) => async (opened) => {
      if (options.raw) printRaw(await opened.rawEvent(id))
      else printResult(await opened.call('getEvent', { id }), options, renderEvent)
    },
  )
  addEventsTailCommand(events, filters)
}

function renderEvent({ receipt, runs, timeline, envelope, ...event }: EventDetailJson): string {
  const { headers: _headers, ...facts } = receipt
  const record = renderRecord('event', { ...event, ...facts })
  if (event.pruned) return `${record}\n\npruned: its body and runs are deleted; its final status is ${event.status}`
  const lines = JSON.stringify(envelope, null, 2).split('\n')
  return [
    record,
    renderList(['run_id', 'handler', 'state', 'attempt', 'run_at', 'replay'], runs, null, 'no handler ran'),
    ...(timeline.length === 0 ? [] : [renderTimeline(timeline)]),
    lines.map((line) => safeText(line, Infinity)).join('\n'),
  ].join('\n\n')
}

/** Attempts, with the place in the handler where each failed. */
function renderTimeline(timeline: readonly AttemptJson[]): string {
  const rows = timeline.map(({ error, ...attempt }) => {
    const place = error && handlerFrame(error.stack)
    return { ...attempt, error: error && `${error.name}: ${error.message}${place ? ` ${place}` : ''}` }
  })
  return renderList(['started_at', 'replay', 'handler', 'attempt', 'outcome', 'error'], rows)
}
