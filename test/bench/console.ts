import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Arrival, EventQuery, Inbox } from '../../src/inbox/port.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { addressOf, fillStore, makeVariedEvent } from './fill.ts'

/**
 * How fast the views of the console answer over a store of a million events, through the thread that answers them, and what the index
 * costs: its size, the time to build it, and how much less is accepted while it is made.
 *
 *   node test/bench/console.ts [--events 1000000] [--rounds 60] [--accepts 30000]
 */
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '60' },
    accepts: { type: 'string', default: '30000' },
    work: { type: 'string' },
  },
})

const events = Number(values.events)
const rounds = Number(values.rounds)
const budgetMs = 100
const hourMs = 3_600_000
const say = (text: string) => void process.stdout.write(`${text}\n`)

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN
}

async function measure(name: string, call: (round: number) => Promise<unknown>): Promise<boolean> {
  const times: number[] = []
  let last: unknown
  for (let round = -3; round < rounds; round += 1) {
    const startedAt = performance.now()
    last = await call(Math.max(0, round))
    if (round >= 0) times.push(performance.now() - startedAt)
  }
  times.sort((a, b) => a - b)
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
  const isQuick = p99 < budgetMs
  say(
    `${name.padEnd(44)} p50 ${p50.toFixed(1).padStart(7)} ms   p99 ${p99.toFixed(1).padStart(7)} ms   ${sizeOf(last)}${isQuick ? '' : '   TOO SLOW'}`,
  )
  return isQuick
}

function sizeOf(answer: unknown): string {
  if (Array.isArray(answer)) return `${answer.length} rows`
  if (typeof answer !== 'object' || answer === null || !('data' in answer) || !Array.isArray(answer.data)) return ''
  const more = 'nextCursor' in answer && answer.nextCursor !== null ? ', more' : ''
  return `${answer.data.length} rows${more}`
}

async function indexed(inbox: Inbox): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const { state, behind, reason } = await inbox.indexStatus()
    if (state === 'current' && behind === 0) return (performance.now() - startedAt) / 1_000
    if (state === 'off' && reason !== 'it is being opened') throw new Error(`the index is off: ${reason}`)
    await wait(50)
  }
}

/** Every list of events that the console can ask for, and the deepest pages of some. */
function eventQueries(): readonly (readonly [string, Omit<EventQuery, 'limit'>])[] {
  const now = Date.now()
  const type = 'wallet.large_trade'
  const middle = { from: now - (events / 2) * 1_000, to: now - (events / 4) * 1_000 }
  return [
    ['all', {}],
    ['type', { type }],
    ['type of none', { type: 'no.such' }],
    ['network', { network: 'base' }],
    ['address, frequent', { address: addressOf(5) }],
    ['address, of none', { address: '0x00' }],
    ['type, network, address', { type, network: 'base', address: addressOf(703) }],
    ['from, to', middle],
    ['from, to, type, network', { ...middle, type, network: 'solana' }],
    ['before all', { to: now - 400 * hourMs }],
    ['q: a word of every event', { q: 'evt' }],
    ['q: one letter', { q: 'e' }],
    ['q: 0x', { q: '0x' }],
    ['q: a word of few, its begin', { q: 'orac' }],
    ['q: three words', { q: 'whale swap bridge' }],
    ['q: three words that never meet', { q: 'whale swap zebra' }],
    ['q: many begins', { q: 'e 0x 2 w b t' }],
    ['q: begins that all have, and one that none has', { q: '2026 0x wal zebra' }],
    ['q: a hash that is not there', { q: `0x${'ab'.repeat(32)}` }],
    ['q, type, network, from, to', { ...middle, q: 'whale', type, network: 'base' }],
    ['status done', { status: 'done' }],
    ['status pending', { status: 'pending' }],
    ['status running', { status: 'running' }],
    ['status retrying', { status: 'retrying' }],
    ['status held', { status: 'held' }],
    ['status dead', { status: 'dead' }],
    ['status unhandled, of none', { status: 'unhandled' }],
    ['status dead, q', { status: 'dead', q: 'whale' }],
  ]
}

async function measureViews(inbox: Inbox): Promise<boolean> {
  let isQuick = true
  const check = async (name: string, call: (round: number) => Promise<unknown>) => {
    isQuick = (await measure(name, call)) && isQuick
  }
  for (const [name, query] of eventQueries()) {
    await check(`events: ${name}`, () => inbox.events({ ...query, limit: 50 }))
    let cursor: string | undefined
    // Page after page, from the begin again at the end.
    await check(`events: ${name}, next pages`, async () => {
      const page = await inbox.events({ ...query, limit: 50, ...(cursor !== undefined && { cursor }) })
      cursor = page.nextCursor ?? undefined
      return page
    })
  }
  const ids = (await inbox.events({ limit: 50, to: Date.now() - (events / 2) * 1_000 })).data.map(({ id }) => id)
  const now = Date.now()
  await check('event', (round) => inbox.event(ids[round % ids.length] ?? ''))
  await check('activity: hour', () => inbox.activity({ from: now - hourMs, to: now, bucketMs: 60_000 }))
  await check('activity: day', () => inbox.activity({ from: now - 24 * hourMs, to: now, bucketMs: 15 * 60_000 }))
  await check('cadences', () => inbox.cadences())
  await check('drift', () => inbox.drift())
  await check('secret uses', () => inbox.secretUses())
  await check('known wallets', () => inbox.knownWallets())
  await check('index status', () => inbox.indexStatus())
  await check('stats', () => inbox.stats())
  await check('dead letters', () => inbox.deadLetters({ limit: 50 }))
  await check('dead letters: groups', () => inbox.deadGroups({}))
  await check('quarantine', () => inbox.quarantine({ limit: 50 }))
  await check('quarantine: groups', () => inbox.quarantineGroups())
  await check('conflicts', () => inbox.conflicts({ limit: 50 }))
  await check('audit', () => inbox.audit({ limit: 50 }))
  await check('gaps', () => inbox.gaps())
  await check('replays', () => inbox.replays({ limit: 50 }))
  return isQuick
}

let accepted = 2_000_000_000

/** Accepts so many events in batches of 100 of which some are under way at a time; gives how many per second. */
async function acceptRate(inbox: Inbox, count: number): Promise<number> {
  const batches: Arrival[][] = []
  for (let n = 0; n < count; n += 100)
    batches.push(Array.from({ length: 100 }, () => makeVariedEvent((accepted += 1), Date.now())))
  const startedAt = performance.now()
  const next = async (): Promise<void> => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) await inbox.accept(batch)
  }
  await Promise.all([next(), next(), next(), next()])
  return (count * 1_000) / (performance.now() - startedAt)
}

/** With and without an index in turns, each on a file of its own; gives the medians. */
async function measureAccepts(work: string): Promise<void> {
  const count = Number(values.accepts)
  const rates = { with: [] as number[], without: [] as number[] }
  for (let round = 0; round < 6; round += 1) {
    for (const hasIndex of round % 2 === 0 ? [true, false] : [false, true]) {
      const inbox = await createSqliteInbox({ file: join(work, `accepts-${round}-${hasIndex}.db`), hasIndex })
      await inbox.register([{ name: 'none', types: ['none'], order: 'none' }])
      await acceptRate(inbox, 5_000)
      if (hasIndex) await indexed(inbox)
      rates[hasIndex ? 'with' : 'without'].push(await acceptRate(inbox, count))
      await inbox.close()
    }
  }
  const median = (of: readonly number[]) =>
    percentile(
      [...of].sort((a, b) => a - b),
      0.5,
    )
  const ratios = rates.with.map((rate, round) => rate / (rates.without[round] ?? NaN))
  say(
    `accepted per second: ${median(rates.with).toFixed(0)} with an index, ${median(rates.without).toFixed(0)} without`,
  )
  say(`ratio: ${median(ratios).toFixed(3)} (of each round: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})`)
}

const work = values.work ?? mkdtempSync(join(tmpdir(), 'inbox-console-bench-'))
try {
  const file = join(work, 'inbox.db')
  say(`filling a store with ${events} events …`)
  await fillStore(file, events, { runs: 'done', bodies: 'varied' })
  const inbox = await createSqliteInbox({ file, onWarning: say })
  const seconds = await indexed(inbox)
  const { sizeBytes } = await inbox.indexStatus()
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`
  say(
    `the index was built in ${seconds.toFixed(0)} s (${(events / seconds).toFixed(0)} events/s), ${mebibytes(sizeBytes ?? 0)}`,
  )
  say(`the database has ${mebibytes(statSync(file).size)}`)
  const isQuick = await measureViews(inbox)
  await inbox.close()
  await measureAccepts(work)
  if (!isQuick) process.exitCode = 1
} finally {
  if (values.work === undefined) rmSync(work, { recursive: true, force: true })
}
