import type { Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type { AnyEvent } from '../../schema/index.ts'
import { toPlainNumbers } from '../admin/exact-json.ts'
import type { EventSummaryJson, EventListJson } from '../admin/events.ts'
import type { Query } from '../admin/parse.ts'
import { formatEvent } from '../dispatch/format.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { wholeNumberFrom } from './arguments.ts'
import { asEventCommand, collect, withEvents, type EventCommandOptions, noteUnknownNames } from './event-command.ts'
import { foldAddress } from '../inbox/route-key.ts'
import { host, runUntilSignal } from './host.ts'
import type { OpenedEvents } from './open-events.ts'
import { printNote, printResult } from './output.ts'
import { hasColors, screenOf } from './screen.ts'

interface TailOptions extends EventCommandOptions, EventFilters {
  readonly follow?: boolean
  readonly limit: number
}

const lookMs = 1_000
const mostAtOnce = 8

/** `onchain-inbox events tail`: the newest events and, with `--follow`, those that come. */
export function addEventsTailCommand(events: Command, statusHelp: string): void {
  const tail = events
    .command('tail')
    .description(
      'print the newest events in the order that they came in and, with --follow, the next ones as they come',
    )
    .option('-f, --follow', 'go on with those that come, until Ctrl-C')
    .option('-n, --limit <number>', 'how many to begin with; 0 = none', wholeNumberFrom(0, 999_999), 20)
    .option('--type <type>', 'of this type')
    .option('--network <network>', 'on this network')
    .option('--address <address>', 'about this token, wallet or contract')
    .option('--status <status>', `${statusHelp}; with --follow those that come to it, of the newest 1,000`)
  asEventCommand(tail, 'events tail --follow --type wallet.large_trade').action(async (options: TailOptions) => {
    const { type, network, address, status } = options
    const given = Object.entries({ type, network, address, status }).filter(([, value]) => value !== undefined)
    const filters: EventFilters = Object.fromEntries(given)
    noteUnknownNames(options)
    await withEvents(options, async (opened) => {
      if (options.follow && !opened.isLive) {
        throw new InboxError(
          'admin_unreachable',
          'no sidecar is running whose events could be followed: start `onchain-inbox serve`, or leave out --follow',
        )
      }
      const listEvents = (query: Query) => opened.call('listEvents', { query })
      const follower = createEventFollower(listEvents, filters)
      // Begun before the list is read, so that nothing is missed between the two.
      if (options.follow) await follower.look()
      const list = await collect(listEvents, { ...filters }, Math.max(1, options.limit))
      const newest = list.data.slice(0, options.limit).toReversed()
      await printEvents(opened, newest, options)
      const printed = new Set(newest.map(({ seq }) => seq))
      const next = async () => (await follower.look()).filter(({ seq }) => !printed.has(seq))
      if (options.follow) await runUntilSignal((signal) => follow(opened, next, options, signal))
    })
  })
}

/** Follows until a signal, or until nobody reads any more. */
async function follow(
  opened: OpenedEvents,
  look: EventFollower['look'],
  options: TailOptions,
  signal: AbortSignal,
): Promise<void> {
  let isLost = false
  const found: EventSummaryJson[] = []
  for (; !signal.aborted; await wait(lookMs, undefined, { signal }).catch(() => {})) {
    try {
      found.push(...(await look()))
      if (isLost) printNote('the sidecar is back')
      isLost = false
      // Those that were found wait for the sidecar to be back, if it goes now.
      for (; found.length > 0; found.splice(0, mostAtOnce)) {
        await printEvents(opened, found.slice(0, mostAtOnce), options)
      }
    } catch (error) {
      if (!(error instanceof InboxError) || error.exitCode !== 75) throw error
      if (!isLost) printNote('the sidecar has gone: tail goes on when it returns')
      isLost = true
    }
  }
}

async function printEvents(
  opened: OpenedEvents,
  events: readonly EventSummaryJson[],
  options: TailOptions,
): Promise<void> {
  for (let at = 0; at < events.length; at += mostAtOnce) {
    const some = events.slice(at, at + mostAtOnce)
    const envelopes = await Promise.all(some.map(({ id }) => envelopeOf(opened, id)))
    for (const [index, event] of some.entries()) {
      const shown = { ...event, envelope: envelopes[index] ?? null }
      printResult(shown, options, () => renderLine(event, shown.envelope))
    }
  }
}

/** Null where the body is no longer kept. */
async function envelopeOf(opened: OpenedEvents, id: string): Promise<unknown> {
  try {
    return (await opened.call('getEvent', { id })).envelope
  } catch (error) {
    if (error instanceof InboxError && error.code === 'not_found') return null
    throw error
  }
}

function renderLine(event: EventSummaryJson, envelope: unknown): string {
  const color = hasColors(host().stdout)
  const line = formatEvent((toPlainNumbers(envelope) ?? { ...event, data: {} }) as AnyEvent, { color })
  return `${line}  ${screenOf(host().stdout).paint('gray', safeText(event.id))}`
}

/** What a followed event must be. */
export interface EventFilters {
  readonly type?: string
  readonly network?: string
  readonly address?: string
  readonly status?: string
}

export interface EventFollower {
  /** Gives what came since the last look, in the order that it came in. The first look gives nothing. */
  look(): Promise<readonly EventSummaryJson[]>
}

const perPage = 200
/** The status of an event changes later on: of so many newest ones it is looked at each time. */
const watched = 1_000

/**
 * Follows the events of a store. Each look reads the list from its newest event back to where the last look was; so it costs what
 * came since, whatever the filters are. With a status those are given that have come to it, of the newest 1,000.
 */
export function createEventFollower(
  listEvents: (query: Query) => Promise<EventListJson>,
  filters: EventFilters,
): EventFollower {
  const isWanted = matcher(filters)
  let last: number | undefined
  let given = new Set<number>()

  async function readBackTo(floorOf: (newest: number) => number): Promise<readonly EventSummaryJson[]> {
    const found: EventSummaryJson[] = []
    let floor: number | undefined
    for (let cursor: string | undefined; ;) {
      const query = { limit: String(perPage), ...(cursor === undefined ? {} : { cursor }) }
      const { data, next_cursor: next } = await listEvents(query)
      floor ??= floorOf(data[0]?.seq ?? 0)
      for (const event of data) {
        if (event.seq <= floor) return found
        found.push(event)
      }
      if (next === null) return found
      cursor = next
    }
  }

  return {
    async look() {
      const isFirst = last === undefined
      const newer = await readBackTo((newest) => {
        // A store that replaced another may have fewer events.
        const known = Math.min(last ?? newest, newest)
        last = newest
        return filters.status === undefined ? known : Math.min(known, newest - watched)
      })
      const wanted = newer.filter(isWanted)
      const fresh = isFirst ? [] : wanted.filter(({ seq }) => !given.has(seq)).toReversed()
      given = new Set(filters.status === undefined ? [] : wanted.map(({ seq }) => seq))
      return fresh
    },
  }
}

function matcher({ type, network, address, status }: EventFilters): (event: EventSummaryJson) => boolean {
  const wanted = address && foldAddress(address)
  return (event) =>
    (type === undefined || event.type === type) &&
    (network === undefined || event.network === network) &&
    (wanted === undefined || event.address === wanted) &&
    (status === undefined || event.status === status)
}
