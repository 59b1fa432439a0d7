import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { InboxError } from '../../src/base/errors.ts'
import { silentLogger } from '../../src/base/log.ts'
import { ApiError, createClient, type ApiClient } from '../../src/client/index.ts'
import { createReconciler, type Reconcile, type ReconcilerOptions } from '../../src/health/reconcile.ts'
import { encodeCursor } from '../../src/inbox/cursor.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { readAsEvent } from '../../src/receiver/readers.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { createAdminStage } from '../support/admin-stage.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'
import { createRestStage } from './emulator-rest-stage.ts'

const minute = 60_000
const from = Date.UTC(2026, 0, 31, 14)
const span = { from, to: from + 60 * minute }

async function inboxWith(events: readonly { readonly created_at: string }[]): Promise<Inbox> {
  const inbox = await createMemoryInbox({ clock: systemClock })
  for (const event of events) {
    const raw = Buffer.from(JSON.stringify(event))
    const delivery = readAsEvent({ raw, receivedAt: Date.parse(event.created_at), secretLabel: 'main' })
    if (typeof delivery === 'string') throw new Error(delivery)
    await inbox.accept([delivery])
  }
  return inbox
}

function reconcilerOf(inbox: ReconcilerOptions['inbox'], client: ReconcilerOptions['client']) {
  const reconciler = createReconciler({ inbox, client, clock: systemClock, log: silentLogger })
  return {
    ...reconciler,
    async ended(): Promise<Reconcile> {
      await until(() => reconciler.current()?.state !== 'running', 'the reconcile ends')
      return reconciler.current()!
    },
    async reconcile(during = span): Promise<Reconcile> {
      reconciler.start(during)
      return this.ended()
    },
  }
}

const walletOf = (name: string) => `0x${name.repeat(40)}`
const eventOf = (wallet: string, hash: string) => {
  const { data, ...event } = eventSamples['wallet.large_trade']
  return { ...event, id: hash, data: { ...data, network: 'base', wallet_address: wallet, tx_hash: hash } }
}
const tradeOf = (hash: unknown, minutes: number) => ({
  tx_hash: hash,
  timestamp: new Date(from + minutes * minute).toISOString(),
  type: 'buy',
  token_out: { symbol: 'ABC', amount: 12, value_usd: 340 },
})

/** An upstream that answers each request of a wallet with these pages, or fails. */
function upstream(pagesOf: (address: string) => readonly (readonly object[])[], total?: number) {
  const api = {
    listWalletTrades: ({ address }: { readonly address: string }) => ({
      async *pages() {
        for (const data of pagesOf(address)) yield { data, meta: { total } }
      },
    }),
  }
  return () => api as unknown as ApiClient
}
const failure = (status: number, isRetryable: boolean) =>
  new ApiError(`the upstream answered ${status}`, { code: 'x', status, isRetryable })

test('R55 finds the lost trades of a real upstream, which returns them in any order', async () => {
  await using stage = await createRestStage({ seed: 'reconcile', hours: 6, settings: { tradesOrder: 'shuffled' } })
  const { world } = stage
  const events = world
    .eventsAfter(0, world.lastEvent())
    .flatMap(({ event }) => (event.type === 'wallet.large_trade' ? [event] : []))
  const [first, ...others] = [...Map.groupBy(events, ({ data }) => data.wallet_address).values()].toSorted(
    (a, b) => b.length - a.length,
  )
  const lost = first![1]!
  const delivered = [first!.filter((event) => event !== lost), ...others.slice(0, 3)].flat()
  const inbox = await inboxWith(delivered)
  const reconciler = reconcilerOf(inbox, (signal) =>
    createClient({ baseUrl: `http://127.0.0.1:${stage.port}`, apiKey: stage.newKey(), signal }),
  )
  const at = Date.parse(lost.created_at)
  const during = { from: at - minute, to: at + minute }
  const { state, wallets, walletsDone, candidates } = await reconciler.reconcile(during)
  expect([state, wallets, walletsDone]).toEqual(['done', 4, 4])
  const hashes = candidates.map(({ txHash }) => txHash)
  expect(hashes).toContain(lost.data.tx_hash)
  for (const { data } of delivered) expect(hashes).not.toContain(data.tx_hash)
  expect(candidates[0]!.summary).toMatch(/^(?:buy|sell|swap) [\d.,]+ .+ for \$[\d.,]+$/)

  await using sidecar = await createAdminStage({ inbox, reconciler })
  await using dir = await createTempDir()
  const [fromText, toText] = [during.from, during.to].map((ms) => new Date(ms).toISOString())
  const command = ['reconcile', '--from', fromText!, '--to', toText!]
  const { out, code } = await runCli(command, { cwd: dir.path, env: sidecar.env })
  expect(code).toBe(0)
  expect(out).toMatch(/^\d+ trades? of 4 wallets, \d+ without an event\n/)
  for (const hash of hashes) expect(out).toContain(hash)
  const late = await runCli([...command, '--from', toText!], { cwd: dir.path, env: sidecar.env })
  expect(late).toMatchObject({ code: 1, errors: expect.stringContaining('`from` must be before `to`') as string })
})

test('finds each transaction of the span that no event of its wallet names, once, also after a short page of the store', async () => {
  const [a, b] = [walletOf('a'), walletOf('b')]
  const inbox = await inboxWith([eventOf(a, '0xknown'), eventOf(b, '0xother')])
  const pages = [
    [tradeOf('0xlate', 60), tradeOf('0xlost', 0), tradeOf('0xknown', 30)],
    [tradeOf('0xbefore', -6), tradeOf('0xlead', -5), tradeOf(null, 1), tradeOf('x'.repeat(201), 1)],
  ]
  const short: ReconcilerOptions['inbox'] = {
    ...inbox,
    events: async (query) =>
      query.cursor === undefined
        ? { data: [], nextCursor: encodeCursor(Number.MAX_SAFE_INTEGER), searchedTo: null }
        : inbox.events(query),
  }
  const result = await reconcilerOf(
    short,
    upstream((wallet) => (wallet === a ? pages : [[tradeOf('0xlost', 0)]])),
  ).reconcile()
  expect(result).toMatchObject({ state: 'done', error: null, wallets: 2, trades: 3, candidateCount: 2 })
  expect(result.candidates.map(({ txHash }) => txHash).toSorted()).toEqual(['0xlead', '0xlost'])
  expect(result.candidates[0]?.summary).toBe('buy 12 ABC for $340.00')
  expect(result.notes.join(' ')).toMatch(/Alerts .* cannot be reconciled/)
})

test('notes unknown and failing wallets, lists that ended early, and the limit of wallets', async () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const wallets = names.map((name) => ({ network: 'base', address: walletOf(name), lastAt: 1 }))
  const inbox = { ...(await inboxWith([])), knownWallets: async () => wallets }
  const statuses: Readonly<Record<string, number>> = {
    [walletOf('a')]: 404,
    [walletOf('b')]: 503,
    [walletOf('c')]: 422,
  }
  const pagesOf = (address: string) => {
    if (address === walletOf('e')) throw new InboxError('usage', 'network: received "optimism"')
    if (statuses[address] !== undefined) throw failure(statuses[address], statuses[address] === 503)
    return [[]]
  }
  const { state, walletsDone, notes } = await reconcilerOf(inbox, upstream(pagesOf, 1)).reconcile()
  expect([state, walletsDone]).toEqual(['done', 5])
  expect(notes.slice(-4)).toEqual([
    'Of 1 wallet not all trades could be read: there may be more candidates.',
    'The upstream does not know 2 wallets: the upstream answered 404',
    'The upstream gave no usable response for 1 wallet: the upstream answered 503',
    'Its API has no request for 1 wallet: network: received "optimism"',
  ])
  const many = Array.from({ length: 10_000 }, (_, at) => ({ network: 'base', address: `0x${at}`, lastAt: 1 }))
  for (const known of [many, many.slice(1)]) {
    const limited = { ...inbox, knownWallets: async () => known }
    const result = await reconcilerOf(
      limited,
      upstream(() => []),
    ).reconcile()
    expect(/Only the 10,000 wallets with the newest events/.test(result.notes.join())).toBe(known === many)
  }
})

test.each([
  ['rejects the key', failure(401, false), 1],
  ['fails for five wallets in a row', failure(503, true), 5],
])('fails if the upstream %s', async (_what, error, requests) => {
  const wallets = Array.from({ length: 9 }, (_, at) => ({ network: 'base', address: walletOf(`${at}`), lastAt: 1 }))
  const inbox = { ...(await inboxWith([])), knownWallets: async () => wallets }
  const fail = () => {
    throw error
  }
  const result = await reconcilerOf(inbox, upstream(fail)).reconcile()
  expect(result).toMatchObject({ state: 'failed', error: error.message, walletsDone: requests - 1 })
})

test('is cancelled at once, and can start again', async () => {
  const inbox = await inboxWith([eventOf(walletOf('a'), '0xknown')])
  let isBlocked = true
  const api = upstream(() => [[tradeOf('0xlost', 1)]])()
  const reconciler = reconcilerOf(inbox, (signal, onRequest) => {
    const listWalletTrades = () => ({
      async *pages() {
        onRequest()
        if (isBlocked) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        yield* api.listWalletTrades({ address: '', network: 'base' }).pages()
      },
    })
    return { listWalletTrades } as unknown as ApiClient
  })
  reconciler.start(span)
  expect(() => reconciler.start(span)).toThrow(expect.objectContaining({ code: 'already_running' }))
  await until(() => reconciler.current()?.requests === 1, 'a request was sent')
  for (let call = 0; call < 2; call++)
    expect(reconciler.cancel()).toMatchObject({ state: 'cancelled', walletsDone: 0, endedAt: expect.any(Number) })
  isBlocked = false
  expect(reconciler.start(span)).toMatchObject({ id: 2, state: 'running' })
  expect(await reconciler.ended()).toMatchObject({ state: 'done', candidateCount: 1 })
  await reconciler.close()
})

test('needs a span of up to 30 days', async () => {
  const reconciler = reconcilerOf(
    await inboxWith([]),
    upstream(() => []),
  )
  for (const [begin, end] of [
    [2, 2],
    [2, 1],
    [0, 30 * 24 * 60 * minute + 1],
    [NaN, 1],
  ] as const)
    expect(() => reconciler.start({ from: begin, to: end })).toThrow(expect.objectContaining({ code: 'bad_request' }))
  expect([reconciler.current(), reconciler.cancel()]).toEqual([null, null])
})
