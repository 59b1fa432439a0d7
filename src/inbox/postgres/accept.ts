import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import type { AcceptResult, Arrival, HandlerRoute, NewEvent } from '../port.ts'
import { createRouteTable, type RouteTable } from '../routes.ts'
import { acceptStatement, acceptValues, type AcceptedRow } from './accept-values.ts'
import type { Database, Rows } from './database.ts'
import type { Gaps } from './gaps.ts'
import { givenLeases } from './given-leases.ts'
import { createHeaderSets } from './header-sets.ts'
import type { Heed } from './heed-clock.ts'
import type { MakeOffer } from './offer.ts'

export interface AcceptOptions {
  readonly db: Database
  readonly clock: Clock
  /** The registered ones: the same array as long as nothing is registered anew. */
  readonly routes: () => readonly HandlerRoute[]
  readonly gaps: Pick<Gaps, 'arrived'>
  readonly heed: Heed
  /** Who new runs can be given to at once. */
  readonly makeOffer: MakeOffer
  /** There are new runs that nobody was given. */
  readonly wake: () => void
}

export interface Accept {
  /** As the port says. Throws `store_full`, `store_unavailable` or `shutting_down`. */
  accept(batch: readonly Arrival[]): Promise<readonly AcceptResult[]>
  /** The same with one event, as a part of a transaction. What is told of it after its commit is left out. */
  acceptIn(trx: Rows, event: NewEvent): Promise<AcceptResult>
}

interface Call {
  readonly batch: readonly Arrival[]
  readonly resolve: (results: readonly AcceptResult[]) => void
  readonly reject: (error: unknown) => void
}

const results: Readonly<Record<string, AcceptResult>> = {
  a: 'accepted',
  d: 'duplicate',
  c: 'conflict',
  q: 'quarantined',
}

/** One call may have more: what is given as one is committed as one. */
const mostArrivals = 1_000
const mostBytes = 8 * 1024 * 1024
/** A claim is not given more at once. */
const mostGivenBytes = 4 * 1024 * 1024

const nobody: MakeOffer = () => null
const bytesOf = (batch: readonly Arrival[]) => batch.reduce((sum, { raw }) => sum + raw.length, 0)

/**
 * Group commit: what gathers while a statement is under way goes into the next one. So calls keep their order; and two statements of one
 * process would only wait for each other, at the counter.
 */
export function createAccept({ db, clock, routes, gaps, heed, makeOffer, wake }: AcceptOptions): Accept {
  const headerSets = createHeaderSets()
  const waiting: Call[] = []
  let isUnderWay = false
  let tableOf: readonly HandlerRoute[] | undefined
  let table: RouteTable = () => []

  function routesOf(type: string): readonly HandlerRoute[] {
    if (tableOf !== routes()) {
      tableOf = routes()
      table = createRouteTable(tableOf)
    }
    return table(type)
  }

  async function store(rows: Rows, batch: readonly Arrival[], toWhom: MakeOffer): Promise<AcceptResult[]> {
    const { values, hasNewHeaders, runs, offer } = acceptValues(batch, {
      now: clock.now(),
      routesOf,
      headerSets,
      makeOffer: toWhom,
    })
    let row: AcceptedRow | undefined
    try {
      ;[row] = await rows.query<AcceptedRow>(acceptStatement, values)
    } catch (error) {
      // What the server says of it was undone.
      if (error instanceof InboxError && error.code === 'store_unavailable') offer?.lose()
      else offer?.end(new Map())
      throw error
    }
    offer?.end(row === undefined ? new Map() : givenLeases(batch, runs, row))
    if (row?.areReady === true) wake()
    if (hasNewHeaders) await headerSets.learn(rows)
    return Array.from(row?.results ?? '', (letter, index) => {
      const result = results[letter]
      if (result === undefined)
        throw new InboxError('internal', `arrival ${index} became ${JSON.stringify(letter)}, which means nothing`)
      return result
    })
  }

  async function commit(batch: readonly Arrival[]): Promise<AcceptResult[]> {
    await heed()
    const became = await store(db, batch, bytesOf(batch) > mostGivenBytes ? nobody : makeOffer)
    for (const [index, arrival] of batch.entries()) {
      if (arrival.kind === 'event' && became[index] === 'accepted') gaps.arrived(arrival.createdAt)
    }
    return became
  }

  async function commitCalls(calls: readonly Call[]): Promise<void> {
    try {
      const became = await commit(calls.flatMap(({ batch }) => batch))
      let from = 0
      for (const { batch, resolve } of calls) resolve(became.slice(from, (from += batch.length)))
    } catch (error) {
      // What throws for another reason than the database throws for one of the calls only.
      if (calls.length > 1 && !(error instanceof InboxError)) for (const call of calls) await commitCalls([call])
      else for (const { reject } of calls) reject(error)
    }
  }

  /** The calls that go into one statement, in the order in which they came. */
  function take(): Call[] {
    let [count, arrivals, bytes] = [0, 0, 0]
    for (const { batch } of waiting) {
      arrivals += batch.length
      bytes += bytesOf(batch)
      if (count > 0 && (arrivals > mostArrivals || bytes > mostBytes)) break
      count++
    }
    return waiting.splice(0, count)
  }

  async function commitAll(): Promise<void> {
    isUnderWay = true
    while (waiting.length > 0) await commitCalls(take())
    isUnderWay = false
  }

  return {
    accept(batch) {
      if (batch.length === 0) return Promise.resolve([])
      return new Promise((resolve, reject) => {
        waiting.push({ batch, resolve, reject })
        if (!isUnderWay) void commitAll()
      })
    },
    async acceptIn(trx, event) {
      const [result] = await store(trx, [event], nobody)
      if (result === undefined)
        throw new InboxError('internal', `nothing was said of the event ${JSON.stringify(event.id)}`)
      return result
    },
  }
}
