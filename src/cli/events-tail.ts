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

const pollMs = 1_000
const maxConcurrentReads = 8

/** `onchain-inbox events tail`: prints the newest events and, with `--follow`, new ones. */
export function addEventsTailCommand(events: Command, statusHelp: string): void {
  const tail = events
    .command('tail')
    .description('Print the newest events, and follow new ones with --follow')
    .option('-f, --follow', 'print new events as they arrive, until Ctrl-C')
    .option('-n, --limit <number>', 'number of stored events to print first; 0 = none', wholeNumberFrom(0, 999_999), 20)
    .option('--type <type>', 'only this event type')
    .option('--network <network>', 'only this network')
    .option('--address <address>', 'only this token, wallet or contract')
    .option('--status <status>', `${statusHelp}; with --follow, events that reach it (of the newest 1,000)`)
  asEventCommand(tail, 'events tail --follow --type wallet.large_trade').action(async (options: TailOptions) => {
    const { type, network, address, status } = options
    const given = Object.entries({ type, network, address, status }).filter(([, value]) => value !== undefined)
    const filters: EventFilters = Object.fromEntries(given)
    noteUnknownNames(options)
    await withEvents(options, async (opened) => {
      if (options.follow && !opened.isLive) {
        throw new InboxError(
          'admin_unreachable',
          'no sidecar is running to follow: start `onchain-inbox serve`, or omit --follow',
        )
      }
      const listEvents = (query: Query) => opened.call('listEvents', { query })
      const follower = createEventFollower(listEvents, filters)
      // Starts before the list is read, so that no event is missed in between.
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

/** Follows until a signal, or until standard output has no reader. */
async function follow(
  opened: OpenedEvents,
  look: EventFollower['look'],
  options: TailOptions,
  signal: AbortSignal,
): Promise<void> {
  let isLost = false
  const found: EventSummaryJson[] = []
  for (; !signal.aborted; await wait(pollMs, undefined, { signal }).catch(() => {})) {
    try {
      found.push(...(await look()))
      if (isLost) printNote('the sidecar is back')
      isLost = false
      // If the sidecar stops now, the remaining events stay in `found` until it is back.
      for (; found.length > 0; found.splice(0, maxConcurrentReads)) {
        await printEvents(opened, found.slice(0, maxConcurrentReads), options)
      }
    } catch (error) {
      if (!(error instanceof InboxError) || error.exitCode !== 75) throw error
      if (!isLost) printNote('lost the sidecar: reconnecting')
      isLost = true
    }
  }
}

async function printEvents(
  opened: OpenedEvents,
  events: readonly EventSummaryJson[],
  options: TailOptions,
): Promise<void> {
  for (let at = 0; at < events.length; at += maxConcurrentReads) {
    const some = events.slice(at, at + maxConcurrentReads)
    const envelopes = await Promise.all(some.map(({ id }) => envelopeOf(opened, id)))
    for (const [index, event] of some.entries()) {
      const shown = { ...event, envelope: envelopes[index] ?? null }
      printResult(shown, options, () => renderLine(event, shown.envelope))
    }
  }
}

/** Null if the body is deleted. */
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

export interface EventFilters {
  readonly type?: string
  readonly network?: string
  readonly address?: string
  readonly status?: string
}

export interface EventFollower {
  /** Returns new events since the last call, oldest first. The first call returns none. */
  look(): Promise<readonly EventSummaryJson[]>
}

const perPage = 200
/** Number of newest events whose status is checked at each call. */
const watched = 1_000

/**
 * Follows new events. Each call reads the list from the newest event back to the last seen one, so its cost depends only on the
 * number of new events. With a status filter it returns events that reached that status, of the newest 1,000.
 */
export function createEventFollower(
  listEvents: (query: Query) => Promise<EventListJson>,
  filters: EventFilters,
): EventFollower {
  const isWanted = matcher(filters)
  let last: number | undefined
  let returned = new Set<number>()

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
      const fresh = isFirst ? [] : wanted.filter(({ seq }) => !returned.has(seq)).toReversed()
      returned = new Set(filters.status === undefined ? [] : wanted.map(({ seq }) => seq))
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
