import type { Command, Option } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type { AnyEvent } from '../../schema/index.ts'
import { toPlainNumbers } from '../base/exact-json.ts'
import type { EventRowJson, EventListJson } from '../admin/events.ts'
import type { Query } from '../admin/parse.ts'
import { formatEvent } from '../dispatch/format.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { wholeNumberFrom } from './arguments.ts'
import { addInboxCommand, collect, definedOf, noteUnknownNames, option, type InboxOptions } from './inbox-command.ts'
import { host, runUntilSignal } from './host.ts'
import { printNote, printResult, hasColors, screenOf } from './output.ts'

interface TailOptions extends InboxOptions {
  readonly follow?: boolean
  readonly limit: number
}

const pollMs = 1_000

/** `onchain-inbox events tail`: prints the newest events and, with `--follow`, new ones. */
export function addEventsTailCommand(events: Command, filters: readonly Option[]): void {
  const usage = {
    description: 'Print the newest events, and follow new ones with --follow',
    options: [
      option('-f, --follow', 'print new events as they arrive, until Ctrl-C'),
      option(
        '-n, --limit <number>',
        'number of stored events to print first; 0 = none',
        wholeNumberFrom(0, 999_999),
      ).default(20),
      ...filters,
    ],
    example: 'events tail --follow --type wallet.large_trade',
  }
  addInboxCommand<undefined, TailOptions>(events, 'tail', usage, (_, options) => {
    const wanted = definedOf(
      options,
      filters.map((filter) => filter.attributeName()),
    )
    noteUnknownNames(wanted)
    const query = { ...wanted, details: 'true' }
    return async (opened) => {
      if (options.follow && !opened.isLive) {
        throw new InboxError(
          'admin_unreachable',
          'no sidecar is running to follow: start `onchain-inbox serve`, or omit --follow',
        )
      }
      const listEvents = (page: Query) => opened.call('listEvents', { query: page })
      const readNew = createEventFollower(listEvents, query)
      // Starts before the list is read, so that no event is missed in between.
      if (options.follow) await readNew()
      const list = await collect(listEvents, query, Math.max(1, options.limit))
      const newest = list.data.slice(0, options.limit).toReversed()
      for (const event of newest) printEvent(event, options)
      const printed = new Set(newest.map(({ seq }) => seq))
      const next = async () => (await readNew()).filter(({ seq }) => !printed.has(seq))
      if (options.follow) await runUntilSignal((signal) => follow(next, options, signal))
    }
  })
}

type EventFollower = () => Promise<readonly EventRowJson[]>

/** Follows until a signal, or until standard output has no reader. */
async function follow(readNew: EventFollower, options: TailOptions, signal: AbortSignal): Promise<void> {
  let isLost = false
  for (; !signal.aborted; await wait(pollMs, undefined, { signal }).catch(() => {})) {
    try {
      for (const event of await readNew()) printEvent(event, options)
      if (isLost) printNote('the sidecar is back')
      isLost = false
    } catch (error) {
      if (!(error instanceof InboxError) || error.exitCode !== 75) throw error
      if (!isLost) printNote('lost the sidecar: reconnecting')
      isLost = true
    }
  }
}

function printEvent(event: EventRowJson, options: TailOptions): void {
  printResult(event, options, ({ id, type, created_at, data }) => {
    const plain = { id, type, created_at, data: toPlainNumbers(data ?? {}) }
    const line = formatEvent(plain as AnyEvent, { color: hasColors(host().stdout) })
    return `${line}  ${screenOf(host().stdout).paint('gray', safeText(id))}`
  })
}

/** Events of one batch may be stored after events with a slightly later receipt. */
const overlapMs = 2_000

/**
 * Follows events that match the filters. Each call returns the events that appeared since the previous call, oldest first; the first
 * returns none.
 */
export function createEventFollower(
  listEvents: (query: Query) => Promise<EventListJson>,
  filters: Readonly<Record<string, string>>,
): EventFollower {
  let seen: ReadonlySet<string> | undefined
  let from = ''

  async function read(): Promise<readonly EventRowJson[]> {
    const [newest] = (await listEvents({ limit: '1' })).data
    const next = new Date(newest === undefined ? 0 : Date.parse(newest.received_at) - overlapMs).toISOString()
    const { data } = await collect(listEvents, { ...filters, from: from || next }, Infinity)
    from = next
    return data
  }

  return async () => {
    const matching = await read()
    const newEvents = matching.filter(({ id }) => seen?.has(id) === false)
    seen = new Set(matching.map(({ id }) => id))
    return newEvents.toReversed()
  }
}
