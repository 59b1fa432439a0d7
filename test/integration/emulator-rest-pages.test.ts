import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WorldRefusal } from '../../src/emulator/world/port.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 24 })
})
afterAll(() => stage[Symbol.asyncDispose]())

type Item = Readonly<Record<string, unknown>>

/** Every item of a list, page by page, with `between` called after each page. */
async function walk(list: string, limit: number, between: (page: number) => unknown = () => {}) {
  const items: Item[] = []
  let cursor: string | null = null
  let page = 0
  do {
    const { data, meta } = await stage.get(`${list}&limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`)
    expect(data.length).toBeLessThanOrEqual(limit)
    if (meta.next_cursor !== null) expect(data).toHaveLength(limit)
    items.push(...data)
    cursor = meta.next_cursor
    await between(page++)
  } while (cursor !== null)
  return items
}

let walletCount = 0
/** A wallet of its own with so many positions, each from a trade. */
function openWallet(positions: number) {
  const wallet = `0x${(0xc0_0000 + walletCount++).toString(16).padStart(40, '0')}`
  const tokens = stage.world.views.tokens().filter(({ network }) => network === 'ethereum')
  const buy = (index: number, usd: number) => {
    const token = tokens[index % tokens.length]?.address ?? ''
    const act = { kind: 'trade', network: 'ethereum', wallet, token, side: 'buy', usd } as const
    return stage.world.acts.apply(act)
  }
  const sellAll = (index: number) => {
    const token = tokens[index % tokens.length]?.address ?? ''
    const act = { kind: 'trade', network: 'ethereum', wallet, token, side: 'sell', fraction: 1 } as const
    try {
      stage.world.acts.apply(act)
    } catch (error) {
      // It holds none of it, or nobody can sell it.
      if (!(error instanceof WorldRefusal)) throw error
    }
  }
  for (let index = 0; index < positions; index++) buy(index, 100 + index)
  return { path: `/v1/wallets/${wallet}`, buy, sellAll }
}

const limits = fc.integer({ min: 1, max: 7 })
const changes = fc.array(fc.record({ index: fc.nat(12), isSale: fc.boolean(), waitMs: fc.nat(120_000) }), {
  maxLength: 4,
})
/** What happens after each page; the last goes on for ever. */
const schedules = fc.array(changes, { minLength: 1, maxLength: 5 })

test('R122 trades: whatever happens between pages, what was there at the first is seen once, in its order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 10 }), limits, schedules, async (size, limit, schedule) => {
      const wallet = openWallet(size)
      const list = `${wallet.path}/trades?network=ethereum`
      const { data: before } = await stage.get(`${list}&limit=100`)
      const seen = await walk(list, limit, async (page) => {
        for (const { index, isSale, waitMs } of schedule[page % schedule.length] ?? []) {
          if (isSale) wallet.sellAll(index)
          else wallet.buy(index, 50)
          await stage.clock.advance(waitMs)
        }
      })
      expect(seen).toEqual(before)
    }),
    { numRuns: 40 },
  )
})

test('R122 A59 portfolio: the pages of a walk are those of its first moment, prices included', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 10 }), limits, schedules, async (size, limit, schedule) => {
      const wallet = openWallet(size)
      const list = `${wallet.path}/portfolio?network=ethereum`
      const { data: before } = await stage.get(`${list}&limit=100`)
      const seen = await walk(list, limit, async (page) => {
        for (const { index, isSale, waitMs } of schedule[page % schedule.length] ?? []) {
          if (isSale) wallet.sellAll(index)
          else wallet.buy(index, 50)
          await stage.clock.advance(waitMs)
        }
      })
      expect(seen).toEqual(before)
    }),
    { numRuns: 40 },
  )
})

test('R122 search: tokens that are listed between pages move none of the others', async () => {
  const addresses = (items: readonly Item[]) => items.map(({ address }) => address)
  const list = '/v1/tokens/search?q=a'
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 5, max: 60 }), fc.array(fc.boolean(), { minLength: 1 }), async (limit, adds) => {
      const before = await walk(list, 100)
      const seen = await walk(list, limit, async (page) => {
        if (!adds[page % adds.length]) return
        await stage.clock.advance(1)
        await stage.get('/v1/networks')
        stage.world.acts.apply({ kind: 'list', network: 'base', symbol: 'AAA', name: 'Aaa', liquidityUsd: 50_000 })
      })
      expect(addresses(seen)).toEqual(addresses(before))
    }),
    { numRuns: 15 },
  )
})

test('R122 alerts: what is created or deleted between pages moves none of the others', async () => {
  const create = () =>
    stage.accounts.addAlert(stage.accountId, {
      type: 'price_above',
      network: 'base',
      address: stage.world.views.tokens().find(({ network }) => network === 'base')?.address ?? '',
      threshold: 1e9,
      webhookUrl: 'https://example.com/',
      label: null,
    }).alertId
  const ids: string[] = []
  for (let index = 0; index < 9; index++) {
    ids.push(create())
    await stage.clock.advance(index % 2)
  }
  expect((await stage.get('/v1/alerts?limit=2')).meta.total).toBe(9)
  const all = await walk('/v1/alerts?', 100)
  const shown = all.map(({ alert_id }) => String(alert_id))
  expect(shown.toSorted()).toEqual(ids.toSorted())
  await stage.clock.advance(1)
  const seen = await walk('/v1/alerts?', 2, (page) => {
    if (page < 3) create()
    // The last of every other page: where the next one begins.
    if (page % 2 === 0) stage.accounts.removeAlert(stage.accountId, shown[page * 2 + 1] ?? '')
  })
  expect(seen.slice(0, 9).map(({ alert_id }) => alert_id)).toEqual(shown)
})

test('R114 R52 a page has 20 items by default and takes a limit from 1 to 100', async () => {
  const list = `${busiestWallet(stage, 'solana').path}/trades?network=solana`
  for (const [given, limit] of [
    ['', 20],
    ['&limit=1', 1],
    ['&limit=100', 100],
    ['&limit=007', 7],
  ] as const) {
    const { data, meta } = await stage.get(`${list}${given}`)
    expect([data.length, meta.limit]).toEqual([limit, limit])
  }
})

test('A57 a limit that is none is refused, or with the setting brought into bounds if it is a whole number', async () => {
  await using clamping = await createRestStage({ hours: 1, settings: { limit: 'clamp' } })
  const cases = [
    ['0', 1],
    ['-5', 1],
    ['101', 100],
    ['99999999999999999999', 100],
    ['1.5', null],
    ['ten', null],
    ['', null],
    ['1e1', null],
  ] as const
  for (const [limit, clamped] of cases) {
    const list = `/v1/tokens/search?q=a&limit=${limit}`
    const { status, body } = await stage.request(list)
    expect([status, body.error.details[0].path], limit).toEqual([400, 'limit'])
    expect(body.error.message).toContain('expected a whole number from 1 to 100')
    const other = await clamping.request(list)
    expect([other.status, other.body.meta.limit], limit).toEqual(clamped === null ? [400, undefined] : [200, clamped])
  }
})

test('R53 R120 R121 the meta of a page has next_cursor until the last, limit and total', async () => {
  const { path } = openWallet(5)
  const list = `${path}/portfolio?network=ethereum`
  const first = await stage.get(`${list}&limit=3`)
  expect(first.meta).toEqual({
    timestamp: expect.any(String),
    next_cursor: expect.stringMatching(/^[\w-]+$/),
    limit: 3,
    total: 5,
    latency_ms: expect.any(Number),
  })
  const last = await stage.get(`${list}&limit=3&cursor=${first.meta.next_cursor}`)
  expect([last.data.length, last.meta.next_cursor, last.meta.total]).toEqual([2, null, 5])
  const exact = await stage.get(`${list}&limit=5`)
  expect(exact.meta.next_cursor).toBe(null)
})

test('A61 the last page can leave next_cursor out', async () => {
  await using omitting = await createRestStage({ hours: 1, settings: { omitNextCursor: true } })
  expect((await omitting.get('/v1/alerts')).meta).not.toHaveProperty('next_cursor')
  expect((await omitting.get('/v1/tokens/search?q=a&limit=1')).meta.next_cursor).toEqual(expect.any(String))
})

test('A60 total is how many there are at the time of the request', async () => {
  const { path, buy } = openWallet(4)
  const list = `${path}/trades?network=ethereum&limit=2`
  const first = await stage.get(list)
  buy(7, 50)
  const second = await stage.get(`${list}&cursor=${first.meta.next_cursor}`)
  expect([first.meta.total, second.meta.total, second.data.length]).toEqual([4, 5, 2])
})

test('A58 a cursor of another list, another world, or of nothing is refused with what to do', async () => {
  const { path, query } = busiestWallet(stage, 'ethereum')
  const other = busiestWallet(stage, 'base')
  const token = (await stage.get(`${path}/trades?${query}`)).data[0].token_out.address
  const { meta } = await stage.get(`${path}/trades?${query}&limit=1`)
  const cursor = meta.next_cursor
  const refused = async (target: string) => {
    const { status, body } = await stage.request(target)
    expect([status, body.error.details[0].path], target).toEqual([400, 'cursor'])
    return body.error.message
  }
  expect(await refused(`${path}/portfolio?${query}&cursor=${cursor}`)).toContain('another')
  expect(await refused(`${other.path}/trades?${other.query}&cursor=${cursor}`)).toContain('another')
  const { wallet } = stage.world.acts.apply({
    kind: 'trade',
    network: 'ethereum',
    wallet: unseen.evm,
    token: stage.world.views.tokens().find(({ network }) => network === 'ethereum')?.address ?? '',
    side: 'buy',
    usd: 100,
  })
  expect(await refused(`/v1/wallets/${String(wallet)}/trades?${query}&cursor=${cursor}`)).toContain('another')
  expect(await refused(`${path}/trades?${query}&token=${token}&cursor=${cursor}`)).toContain('another')
  expect(await refused(`${path}/trades?${query}&cursor=${cursor}x`)).toContain('unchanged')
  expect(await refused(`${path}/trades?${query}&cursor=1`)).toContain('unchanged')
  expect(await refused(`${path}/trades?${query}&cursor=`)).toContain('next_cursor')
  await using world = await createRestStage({ seed: 'another', hours: 2 })
  const foreign = await world.get('/v1/tokens/search?q=a&limit=1')
  expect(await refused(`/v1/tokens/search?q=a&limit=1&cursor=${foreign.meta.next_cursor}`)).toContain('unchanged')

  const lower = path.replace(/0x.*/, (address) => address.toLowerCase())
  expect((await stage.request(`${lower}/trades?${query}&limit=50&cursor=${cursor}`)).status).toBe(200)
  const { accountId } = stage.accounts.putAccount('other', 'unlimited')
  const key = stage.newKey(['read:wallets'], accountId)
  expect((await stage.request(`${path}/trades?${query}&cursor=${cursor}`, { key })).status).toBe(400)
})

test('A58 a cursor of a moment that the world has not reached again is refused', async () => {
  await using restored = await createRestStage({ hours: 1 })
  const snapshot = restored.world.snapshot()
  const list = '/v1/tokens/search?q=a&limit=1'
  const early = (await restored.get(list)).meta.next_cursor
  restored.world.acts.apply({ kind: 'list', network: 'base', symbol: 'AAA', name: 'Aaa', liquidityUsd: 50_000 })
  const late = (await restored.get(list)).meta.next_cursor
  restored.world.restore(snapshot)
  const { status, body } = await restored.request(`${list}&cursor=${late}`)
  expect([status, body.error.message]).toEqual([400, expect.stringContaining('yet to come')])
  expect((await restored.request(`${list}&cursor=${early}`)).status).toBe(200)
})
