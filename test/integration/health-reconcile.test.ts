import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createClient, type ApiClient } from '../../src/client/index.ts'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import type { WorldEvent } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import type { NetworkId } from '../../schema/index.ts'
import { createReconciler, type Reconcile, type ReconcilerOptions } from '../../src/health/reconcile.ts'
import { encodeCursor } from '../../src/inbox/cursor.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { silentLogger } from '../../src/base/log.ts'
import { readAsEvent } from '../../src/receiver/readers.ts'
import { until } from '../support/until.ts'
import { startClientStage, type ClientStage } from './client-stage.ts'
import { createRestStage } from './emulator-rest-stage.ts'
import { apiKey } from './emulator-stage.ts'

const minute = 60_000
/** Trades this long before the span are compared as well. */
const leadMs = 5 * minute

/** An inbox with these events. */
async function inboxWith(events: readonly WorldEvent['event'][]): Promise<Inbox> {
  const inbox = await createMemoryInbox({ clock: systemClock })
  for (const event of events) {
    const raw = Buffer.from(JSON.stringify(event))
    const arrival = readAsEvent({ raw, receivedAt: Date.parse(event.created_at), secretLabel: 'main' })
    if (typeof arrival === 'string') throw new Error(arrival)
    await inbox.accept([arrival])
  }
  return inbox
}

const fieldOf = ({ data }: WorldEvent['event'], name: string) => String((data as Record<string, unknown>)[name])
const walletOf = (event: WorldEvent['event']) => `${fieldOf(event, 'network')} ${fieldOf(event, 'wallet_address')}`
const hashOf = (event: WorldEvent['event']) => fieldOf(event, 'tx_hash')

/** Wallet events of a world: the delivered ones of some wallets, and the lost ones of a span. */
function withLosses({ eventsAfter, lastEvent }: Pick<World, 'eventsAfter' | 'lastEvent'>, mostWallets: number) {
  const events = eventsAfter(0, lastEvent()).map(({ event }) => event)
  const trades = events.filter(({ type }) => type === 'wallet.large_trade' || type === 'wallet.new_position')
  const times = trades.map(({ created_at: at }) => Date.parse(at)).toSorted((a, b) => a - b)
  const from = times[Math.floor(times.length / 3)]!
  const to = times[Math.floor((2 * times.length) / 3)]! + 1
  const isInGap = ({ created_at: at }: WorldEvent['event']) => Date.parse(at) >= from && Date.parse(at) < to
  const kept = trades.filter((event) => !isInGap(event))
  const wallets = new Set([...new Set(kept.map(walletOf))].slice(0, mostWallets))
  const delivered = kept.filter((event) => wallets.has(walletOf(event)))
  // Another event may name the same trade.
  const named = new Set(delivered.map(hashOf))
  const lost = trades.filter((event) => isInGap(event) && wallets.has(walletOf(event)) && !named.has(hashOf(event)))
  if (lost.length === 0) throw new Error('nothing was lost: use another seed')
  return { span: { from, to }, wallets, delivered, named, lost }
}

/** Transactions of the span that no event names, from the world itself. */
function missingOf({ views }: Pick<World, 'views'>, known: ReturnType<typeof withLosses>): Set<string> {
  const refs = [...known.wallets].map((wallet) => {
    const [network = '', address = ''] = wallet.split(' ')
    return views.findWallet(network as NetworkId, address)!
  })
  const trades = refs.flatMap(
    (ref) => views.trades(ref, { limit: 100_000, after: null, asOf: { at: Infinity, seq: Infinity } }, null).items,
  )
  const { from, to } = known.span
  return new Set(
    trades
      .filter(({ timestamp }) => Date.parse(timestamp) >= from - leadMs && Date.parse(timestamp) < to)
      .map(({ tx_hash: hash }) => hash)
      .filter((hash) => !known.named.has(hash)),
  )
}

const hashesOf = ({ candidates }: Reconcile) => new Set(candidates.map(({ txHash }) => txHash))

function reconcilerOf(
  inbox: ReconcilerOptions['inbox'],
  client: ReconcilerOptions['client'],
  clock: Clock = systemClock,
) {
  const reconciler = createReconciler({ inbox, client, clock, log: silentLogger })
  return {
    ...reconciler,
    async ended(): Promise<Reconcile> {
      await until(() => reconciler.current()?.state !== 'running', 'the reconcile ends')
      return reconciler.current()!
    },
  }
}

describe('a reconcile', () => {
  test('finds exactly the transactions that no stored event names, in any order, within the rate limit', async () => {
    await using stage = await createRestStage({
      seed: 'reconcile',
      hours: 6,
      plan: 'free',
      settings: { tradesOrder: 'shuffled' },
    })
    const known = withLosses(stage.world, 25)
    const inbox = await inboxWith(known.delivered)
    let inFlight = 0
    const reconciler = reconcilerOf(
      inbox,
      (signal, onRequest) =>
        createClient({
          baseUrl: `http://127.0.0.1:${stage.port}`,
          apiKey: stage.newKey(),
          clock: stage.wall,
          signal,
          async fetch(url, init) {
            onRequest()
            inFlight++
            const response = await fetch(url, init)
            const text = await response.text()
            inFlight--
            return new Response(text, response)
          },
        }),
      stage.wall,
    )
    const startedAt = stage.wall.now()
    reconciler.start(known.span)
    while (reconciler.current()?.state === 'running') {
      do for (let turn = 0; turn < 20; turn++) await stage.wall.advance(0)
      while (inFlight > 0)
      if (reconciler.current()?.state !== 'running') break
      await stage.wall.advance(Math.max(0, (stage.wall.nextTimerAt() ?? stage.wall.now()) - stage.wall.now()))
    }
    const found = reconciler.current()!
    expect(found).toMatchObject({
      state: 'done',
      error: null,
      wallets: known.wallets.size,
      walletsDone: known.wallets.size,
    })
    expect(hashesOf(found)).toEqual(missingOf(stage.world, known))
    for (const lost of known.lost) expect(hashesOf(found)).toContain(hashOf(lost))
    expect(found.candidateCount).toBe(found.candidates.length)
    expect(found.candidates[0]!.summary).toMatch(/^(?:buy|sell|swap) [\d.,]+ .+ for \$[\d.,]+$/)
    expect(found.notes.join(' ')).toMatch(/Alerts .* cannot be reconciled/)
    // The smallest plan allows ten requests a minute.
    expect(stage.exchanges.every(({ status }) => status === 200)).toBe(true)
    expect(stage.exchanges).toHaveLength(found.requests)
    expect(stage.wall.now() - startedAt).toBeGreaterThanOrEqual(Math.floor((found.requests - 1) / 10) * minute)
    await reconciler.close()
  })

  describe('with a faulty upstream', () => {
    let stage: ClientStage
    let known: ReturnType<typeof withLosses>
    let inbox: Inbox
    beforeAll(async () => {
      stage = await startClientStage()
      known = withLosses(stage.stage.emulator.world, 5)
      inbox = await inboxWith(known.delivered)
    })
    afterEach(() => stage.heal())
    afterAll(() => stage[Symbol.asyncDispose]())

    const client = (signal: AbortSignal, onRequest: () => void): ApiClient =>
      stage.client({
        signal,
        fetch(url, init) {
          onRequest()
          return fetch(url, init)
        },
      })

    test('retries failures, skips unknown wallets, and reads on after short pages', async () => {
      await stage.fault({ kind: 'error-503' }, { times: 2 })
      const unknown = { network: 'ethereum', address: `0x${'9'.repeat(40)}`, lastAt: 1 }
      const odd = {
        knownWallets: async () => [...(await inbox.knownWallets()), unknown],
        events: async (query: Parameters<Inbox['events']>[0]) =>
          query.cursor === undefined
            ? { data: [], nextCursor: encodeCursor(Number.MAX_SAFE_INTEGER), searchedTo: null }
            : inbox.events(query),
      }
      const reconciler = reconcilerOf(odd, client)
      reconciler.start(known.span)
      const found = await reconciler.ended()
      expect(found).toMatchObject({ state: 'done', walletsDone: known.wallets.size + 1 })
      expect(hashesOf(found)).toEqual(missingOf(stage.stage.emulator.world, known))
      expect(found.notes.at(-1)).toMatch(/^The upstream does not know 1 wallet: /)
    })

    test('fails with a rejected key, which it never shows, and notes the limit of wallets', async () => {
      const most = Array.from({ length: 10_000 }, (_, at) => ({ network: 'base', address: `0x${at}`, lastAt: 1 }))
      const key = 'sk_a-key-that-is-not-known-0001'
      for (const wallets of [most, most.slice(1)]) {
        const reconciler = reconcilerOf({ ...inbox, knownWallets: async () => wallets }, (signal) =>
          stage.client({ signal, apiKey: key }),
        )
        reconciler.start(known.span)
        const found = await reconciler.ended()
        expect(found).toMatchObject({ state: 'failed', wallets: wallets.length, error: expect.stringContaining('401') })
        expect(/Only the 10,000 wallets with the newest events/.test(found.notes.join())).toBe(wallets === most)
        for (const secret of [key, apiKey]) expect(JSON.stringify(found)).not.toContain(secret)
      }
    })

    test('notes that a list ended early', async () => {
      const api = stage.api
      const cutShort = {
        ...api,
        listWalletTrades: (...given: Parameters<ApiClient['listWalletTrades']>) => ({
          pages: async function* () {
            const whole = await api.listWalletTrades(...given).page()
            yield { ...whole, data: whole.data.slice(0, -1) }
          },
        }),
      } as unknown as ApiClient
      const reconciler = reconcilerOf(inbox, () => cutShort)
      reconciler.start(known.span)
      expect((await reconciler.ended()).notes.at(-1)).toMatch(/^Of 5 wallets not all trades could be read/)
    })

    test('is cancelled at once, keeps its results, and can start again', async () => {
      await stage.fault({ kind: 'latency', ms: 5_000 })
      const reconciler = reconcilerOf(inbox, client)
      reconciler.start(known.span)
      expect(() => reconciler.start(known.span)).toThrow(expect.objectContaining({ code: 'already_running' }))
      await until(() => (reconciler.current()?.requests ?? 0) > 0, 'a request was sent')
      expect(reconciler.cancel()).toMatchObject({ state: 'cancelled', walletsDone: 0, endedAt: expect.any(Number) })
      expect(reconciler.cancel()).toMatchObject({ state: 'cancelled' })
      await stage.heal()
      expect(reconciler.start(known.span)).toMatchObject({ id: 2, state: 'running' })
      expect(hashesOf(await reconciler.ended())).toEqual(missingOf(stage.stage.emulator.world, known))
      await reconciler.close()
    })
  })

  test('needs a span of up to 30 days, and access to the upstream', async () => {
    const reconciler = reconcilerOf(await createMemoryInbox({ clock: systemClock }), null)
    for (const span of [
      { from: 2, to: 2 },
      { from: 2, to: 1 },
      { from: 0, to: 30 * 24 * 60 * minute + 1 },
      { from: NaN, to: 1 },
    ])
      expect(() => reconciler.start(span)).toThrow(expect.objectContaining({ code: 'bad_request' }))
    expect(() => reconciler.start({ from: 0, to: 1 })).toThrow(expect.objectContaining({ code: 'api_not_configured' }))
    expect(reconciler.current()).toBeNull()
    expect(reconciler.cancel()).toBeNull()
    await reconciler.close()
  })
})
