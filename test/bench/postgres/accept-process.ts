import { systemClock } from '../../../src/base/clock.ts'
import { createPostgresInbox } from '../../../src/inbox/postgres/inbox.ts'
import { makeEvent } from '../fill.ts'

/** An order to accept `events` events in batches. `from`: the number of the first event. */
export interface AcceptOrder {
  readonly events: number
  readonly batch: number
  readonly from: number
}

/** Concurrent calls, so that one waits while the other is committed. */
const concurrency = 2

/** A replica without HTTP server. */
const inbox = await createPostgresInbox({
  url: process.env['BENCH_DATABASE'] ?? '',
  clock: systemClock,
  migrate: 'auto',
})

process.on('message', ({ events, batch, from }: AcceptOrder) => {
  const all = Array.from({ length: events }, (_, index) => makeEvent(from + index))
  const startedAt = performance.now()
  let next = 0
  const work = async () => {
    while (next < all.length) await inbox.accept(all.slice(next, (next += batch)))
  }
  void Promise.all(Array.from({ length: concurrency }, work)).then(() => {
    process.send?.({ seconds: (performance.now() - startedAt) / 1_000 })
  })
})
process.on('disconnect', () => void inbox.close().then(() => process.exit(0)))
process.send?.('ready')
