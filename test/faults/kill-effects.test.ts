import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { counts } from '../counts.ts'
import { requeueCrashed } from '../support/dead-letters.ts'
import { RecordingClient } from '../support/history.ts'
import { Load } from '../support/load.ts'
import { Sidecar } from '../support/sidecar.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')

/** Counts all events, and those of each address; fails now and then after it has done so; tells a sink of each. */
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
    if (Math.random() < 0.05) throw new Error('now and then')
  },
})
`

/** Writes a line per item, and now and then does not answer for it. */
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
    if (Math.random() < 0.05) throw new Error('now and then')
  },
})
`

interface Line {
  readonly key: string
  readonly id: string
  readonly count: number
  readonly idempotencyKey: string
}

test(`after ${counts.effectKillRounds} kill -9 a counter in ctx.state equals the number of events, and each item of the outbox was delivered in order (SEED=${seed})`, async () => {
  console.log(`SEED=${seed}`)
  const random = createRandomStream(seed, 'kill-effects')
  await using sidecar = await Sidecar.create({ handlers: { 'counter.mjs': counter, 'ledger.mjs': ledger } })
  using client = new RecordingClient({ url: () => sidecar.url })
  const load = new Load({ client, workers: 16, keys: 50, random: () => random.uniform() })

  for (let round = 1; round <= counts.effectKillRounds; round++) {
    await sidecar.start()
    const acknowledged = load.acknowledgements(random.integer(1, 400))
    const sending = load.run()
    await acknowledged
    await wait(random.integer(0, 50))
    await sidecar.kill()
    await sending
  }

  await sidecar.start()
  await load.heal()
  await sidecar.drained()
  const requeued = await requeueCrashed(sidecar)
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })

  const { events, state } = await readStore(sidecar.databaseFile)
  expect(state.get('events')).toBe(events.size)
  const perAddress = [...state].filter(([key]) => key.startsWith('of '))
  expect(perAddress.reduce((sum, [, count]) => sum + count, 0)).toBe(events.size)

  const lines = (await readFile(sidecar.effectsFile, 'utf8')).split('\n').filter((line) => line !== '')
  const delivered = new Map<string, Line>()
  for (const line of lines.map((text) => JSON.parse(text) as Line)) {
    // Repeats are allowed, and tell the same.
    const first = delivered.get(line.idempotencyKey)
    if (first === undefined) delivered.set(line.idempotencyKey, line)
    else expect(line).toEqual(first)
  }
  expect(new Set([...delivered.values()].map(({ id }) => id))).toEqual(events)
  expect(delivered.size).toBe(events.size)
  expect([...delivered.keys()].filter((key) => !/^counter:evt_\d+:0$/.test(key))).toEqual([])
  // Of each address the first delivery of each item came in order: 1, 2, 3 …
  for (const items of Map.groupBy(delivered.values(), ({ key }) => key).values()) {
    // A dead letter is passed over, and comes later.
    if (items.some(({ id }) => requeued.has(id))) continue
    expect(items.map(({ count }) => count)).toEqual(items.map((_, index) => index + 1))
  }
  console.log(`${events.size} events, ${lines.length - delivered.size} items delivered more than once`)
})

async function readStore(file: string): Promise<{ events: Set<string>; state: Map<string, number> }> {
  const inbox = await createSqliteInbox({ file })
  try {
    const events = new Set<string>()
    let cursor: string | null = null
    do {
      const page = await inbox.events({ limit: 200, ...(cursor !== null && { cursor }) })
      for (const { id, status } of page.data) {
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
