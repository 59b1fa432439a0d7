import { createTestClock } from '../../src/base/clock.ts'
import type { HandlerRoute, Lease, NewEvent } from '../../src/inbox/port.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent, aQuarantined, boom, bytes } from '../conformance/stage.ts'

/** Handlers of a full store. */
const fullRoutes: readonly HandlerRoute[] = [
  { name: 'ordered', types: ['*'], order: 'key' },
  { name: 'holding', types: ['hold.*'], order: 'key', onDead: 'hold' },
  { name: 'loose', types: ['wallet.*'], order: 'none' },
  { name: 'newest', types: ['newest.*'], order: 'key', latestOnly: true },
  { name: 'mail', types: [], order: 'key' },
]

const odd = 'a\0b\u0001c\u0001\u0002\u{1f600}'
const day = 24 * 3_600_000

/**
 * Creates a SQLite file with rows of every kind in every table, and `bulk` plain events. It includes a run in flight at the end of its
 * process, and texts with U+0000 and U+0001.
 */
export async function makeFullStore(file: string, bulk: number): Promise<void> {
  const clock = createTestClock()
  const open = async () => createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  let inbox = await open()
  await inbox.register(fullRoutes)
  await inbox.startServing()
  const event = (id: string, given: Partial<NewEvent> = {}) => anEvent(id, { receivedAt: clock.now(), ...given })
  const claim = (handler: string) => inbox.claim({ handlers: [handler], max: 1, owner: handler, suspects: false })
  const ended = ({ runId, token }: Lease) => ({ runId, token, startedAt: clock.now() - 5, endedAt: clock.now() })

  // Pruned events.
  await inbox.accept([event('pruned'), event('pruned conflict')])
  await inbox.accept([event('pruned conflict', { raw: bytes('another') })])
  for (const handler of ['ordered', 'ordered', 'loose', 'loose']) {
    for (const lease of await claim(handler)) await inbox.settle([{ ...ended(lease), kind: 'done' }])
  }
  await clock.advance(40 * day)
  await inbox.startServing()
  await inbox.prune({ receivedBefore: clock.now() - 30 * day, maxBytes: null }, 'noted', 'ann')

  // All kinds of bytes, texts and headers; duplicates and conflicts.
  const whole = { network: 'solana', address: 'A', headers: `{"x":"${odd}"}`, trace: '00-trace' }
  await inbox.accept([
    event(`odd ${odd}`, {
      ...whole,
      type: `hold.${odd}`,
      key: odd,
      secretLabel: odd,
      raw: Buffer.from([0, 1, 2, 255]),
    }),
    event('empty', { type: 'other', raw: new Uint8Array() }),
    ...['h1', 'h2', 'h3'].map((id) => event(id, { type: 'hold.it', key: 'held key' })),
    ...['n1', 'n2', 'n3'].map((id) => event(id, { type: 'newest.it', key: 'newest key' })),
    ...['k1', 'k2', 'k3'].map((id) => event(id, { type: 'other', key: 'one key' })),
  ])
  await inbox.accept([
    event('empty', { type: 'other', raw: new Uint8Array() }),
    event('h1', { raw: bytes('not the same') }),
  ])
  for (const times of [1, 3]) {
    for (let n = 0; n < times; n += 1) await inbox.accept([aQuarantined(`unusable ${times}`, { secretLabel: odd })])
  }

  // State with and without an expiry, and outbox items.
  const [first] = await claim('ordered')
  await inbox.settle([
    {
      ...ended(first!),
      kind: 'done',
      effects: {
        reads: [],
        writes: [
          { key: odd, value: JSON.stringify(odd), expiresAt: null },
          { key: '\0', value: '1', expiresAt: null },
          { key: '\u0001', value: '2', expiresAt: clock.now() + 400 * day },
          { key: 'brief', value: '"gone soon"', expiresAt: clock.now() + 5 },
        ],
        items: [
          { sink: 'mail', key: odd, payload: JSON.stringify({ odd }), idempotencyKey: `mail:${odd}:0` },
          { sink: 'mail', key: odd, payload: '{}', idempotencyKey: 'mail:1' },
        ],
      },
    },
  ])
  // A dead letter, one that blocks its key, a postponed run, and runs in flight.
  const [dead] = await claim('ordered')
  await inbox.settle([{ ...ended(dead!), kind: 'dead', error: { ...boom, message: odd, name: odd } }])
  const [oddly, held] = [(await claim('holding'))[0]!, (await claim('holding'))[0]!]
  await inbox.settle([
    { ...ended(oddly), kind: 'retry', at: clock.now() + 3_600_000, error: boom },
    { ...ended(held), kind: 'dead', error: boom },
  ])
  await claim('mail')
  await claim('newest')

  await inbox.accept(
    Array.from({ length: bulk }, (_, n) => event(`bulk ${n}`, { type: 'plain', key: `key ${n % 50}` })),
  )
  const done = await inbox.startReplay({ filter: { ids: ['empty', 'h1'] }, perSecond: 0.5, newKeys: true }, odd)
  await clock.advance(1_000)
  await inbox.startReplay({ filter: { type: 'plain' }, perSecond: 12.5, newKeys: false })
  await clock.advance(1_000)
  await inbox.cancelReplay(done.id, 'ann')
  await inbox.setPaused('loose', true, 'ann')
  await inbox.setConcurrency('mail', 3)
  await inbox.note('reconcile.start', {}, odd)
  await inbox.close()

  await clock.advance(day)
  inbox = await open()
  await inbox.register([...fullRoutes, { name: 'late', types: ['plain'], order: 'key', from: 'beginning' }])
  await inbox.startServing()
  await inbox.claim({ handlers: ['loose', 'ordered'], max: 2, owner: 'dies', suspects: false })
  await inbox.close()
}
