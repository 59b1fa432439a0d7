import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createRandomStream } from '../../src/emulator/random.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { createPostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { counts } from '../counts.ts'
import { requeueCrashed } from '../support/dead-letters.ts'
import { RecordingClient } from '../support/history.ts'
import { Load } from '../support/load.ts'
import { startPostgres } from '../support/postgres.ts'
import { Sidecar } from '../support/sidecar.ts'
import { createTempDir } from '../support/temp-dir.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')

/** Counts events in total and per address, enqueues an item for each, and sometimes fails afterwards. */
const counter = `
import { setTimeout as wait } from 'node:timers/promises'
import { defineHandler } from 'onchain-inbox'

export default defineHandler({
  type: '*',
  retry: { baseMs: 5, capMs: 50, attempts: 1000 },
  async run(event, ctx) {
    const address = event.data.wallet_address
    if (Math.random() < 0.5) await wait(Math.random() * 5)
    for (const key of ['events', 'of ' + address]) ctx.state.set(key, ((await ctx.state.get(key)) ?? 0) + 1)
    ctx.enqueue('ledger', { id: event.id, count: await ctx.state.get('of ' + address) })
    if (Math.random() < 0.05) await wait(Math.random() * 5)
    if (Math.random() < 0.05) throw new Error('random failure')
  },
})
`

/** Writes a line per item, and sometimes fails afterwards. */
const ledger = `
import { appendFileSync } from 'node:fs'
import { defineSink } from 'onchain-inbox'

export default defineSink({
  batch: 10,
  concurrency: 2,
  retry: { baseMs: 5, capMs: 50, attempts: 1000 },
  send(items) {
    const lines = items.map(({ key, payload, idempotencyKey }) => JSON.stringify({ key, ...payload, idempotencyKey }))
    appendFileSync(process.env.EFFECTS, lines.join('\\n') + '\\n')
    if (Math.random() < 0.05) throw new Error('random failure')
  },
})
`

interface Line {
  readonly key: string
  readonly id: string
  readonly count: number
  readonly idempotencyKey: string
}

/** A database and the number of processes that share it. */
interface Store {
  readonly url: string
  readonly replicas: number
  /** Opens the inbox after all processes have ended. */
  open(): Promise<Inbox>
}

const stores: Readonly<Record<string, (stack: AsyncDisposableStack) => Promise<Store>>> = {
  async SQLite(stack) {
    const dir = stack.use(await createTempDir())
    const file = join(dir.path, 'inbox.db')
    return { url: `sqlite:${file}`, replicas: 1, open: () => createSqliteInbox({ file }) }
  },
  async PostgreSQL(stack) {
    const url = await stack.use(await startPostgres()).createDatabase('effects')
    return { url, replicas: 2, open: () => createPostgresInbox({ url, clock: systemClock }) }
  },
}

test.each(Object.entries(stores))(
  `on %s, after ${counts.effectKillRounds} kill -9, ctx.state counts each event once and items are delivered in order (SEED=${seed})`,
  async (name, createStore) => {
    console.log(`SEED=${seed}`)
    const random = createRandomStream(seed, `kill-effects ${name}`)
    await using stack = new AsyncDisposableStack()
    const store = await createStore(stack)
    const effectsFile = join(stack.use(await createTempDir()).path, 'effects')
    const env = { INBOX_DATABASE_URL: store.url, EFFECTS: effectsFile }
    const handlers = { 'counter.mjs': counter, 'ledger.mjs': ledger }
    const sidecars: Sidecar[] = []
    for (let n = 0; n < store.replicas; n++) sidecars.push(stack.use(await Sidecar.create({ handlers, env })))
    const pick = () => sidecars[random.integer(0, sidecars.length - 1)] as Sidecar
    using client = new RecordingClient({ url: () => pick().url })
    const load = new Load({ client, workers: 16, keys: 50, random: () => random.uniform() })

    await Promise.all(sidecars.map((sidecar) => sidecar.start()))
    for (let round = 1; round <= counts.effectKillRounds; round++) {
      const acknowledged = load.acknowledgements(random.integer(1, 400))
      const sending = load.run()
      await acknowledged
      await wait(random.integer(0, 50))
      const victim = pick()
      await victim.kill()
      await sending
      await victim.start()
    }

    await load.heal()
    const [first] = sidecars as [Sidecar]
    await first.drained()
    const requeued = await requeueCrashed(first)
    await first.drained()
    for (const sidecar of sidecars) expect(await sidecar.stop()).toEqual({ code: 0, signal: null })

    const { events, state } = await readStore(await store.open())
    expect(state.get('events')).toBe(events.size)
    const perAddress = [...state].filter(([key]) => key.startsWith('of '))
    expect(perAddress.reduce((sum, [, count]) => sum + count, 0)).toBe(events.size)

    const lines = (await readFile(effectsFile, 'utf8')).split('\n').filter((line) => line !== '')
    const delivered = new Map<string, Line>()
    for (const line of lines.map((text) => JSON.parse(text) as Line)) {
      // Repeats are allowed, and must be identical.
      const first = delivered.get(line.idempotencyKey)
      if (first === undefined) delivered.set(line.idempotencyKey, line)
      else expect(line).toEqual(first)
    }
    expect(new Set([...delivered.values()].map(({ id }) => id))).toEqual(events)
    expect(delivered.size).toBe(events.size)
    expect([...delivered.keys()].filter((key) => !/^counter:evt_\d+:0$/.test(key))).toEqual([])
    // First deliveries of an address are in order: 1, 2, 3 …
    for (const items of Map.groupBy(delivered.values(), ({ key }) => key).values()) {
      // A requeued dead letter comes later.
      if (items.some(({ id }) => requeued.has(id))) continue
      expect(items.map(({ count }) => count)).toEqual(items.map((_, index) => index + 1))
    }
    console.log(`${events.size} events, ${lines.length - delivered.size} items delivered more than once`)
  },
  1_800_000,
)

async function readStore(inbox: Inbox): Promise<{ events: Set<string>; state: Map<string, number> }> {
  try {
    const events = new Set<string>()
    let cursor: string | null = null
    do {
      const page = await inbox.events({ limit: 200, ...(cursor !== null && { cursor }) })
      for (const { id, type, status } of page.data) {
        // Warnings of the inbox.
        if (type.startsWith('inbox.')) continue
        expect(status, id).toBe('done')
        events.add(id)
      }
      cursor = page.nextCursor
    } while (cursor !== null)
    const entries = await inbox.readState('counter', { prefix: '', after: null, limit: 1_000 })
    return { events, state: new Map(entries.map(({ key, value }) => [key, Number(value)])) }
  } finally {
    await inbox.close()
  }
}
