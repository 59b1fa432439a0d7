import { systemClock } from '../../../src/base/clock.ts'
import { createPostgresInbox } from '../../../src/inbox/postgres/inbox.ts'
import { makeEvent } from '../fill.ts'

/** A replica without its HTTP server: it opens an inbox, says so, and accepts as fast as it can once it is told to. */
export interface AcceptOrder {
  readonly events: number
  /** So many are given to the inbox at once. */
  readonly batch: number
  /** Of the first event, among those of all processes. */
  readonly from: number
}

/** Each is under way while the next one waits, as when requests come without end. */
const callsAtOnce = 2

const inbox = await createPostgresInbox({
  url: process.env['BENCH_DATABASE'] ?? '',
  clock: systemClock,
  migrate: 'auto',
})

process.on('message', ({ events, batch, from }: AcceptOrder) => {
  const all = Array.from({ length: events }, (_, index) => makeEvent(from + index, events))
  const startedAt = performance.now()
  let next = 0
  const work = async () => {
    while (next < all.length) {
      const given = all.slice(next, next + batch)
      next += batch
      await inbox.accept(given)
    }
  }
  void Promise.all(Array.from({ length: callsAtOnce }, work)).then(() => {
    process.send?.({ seconds: (performance.now() - startedAt) / 1_000 })
  })
})
process.on('disconnect', () => void inbox.close().then(() => process.exit(0)))
process.send?.('ready')
