import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Trade } from '../../src/emulator/world/port.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 6 })
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

async function everyTrade(from: RestStage, path: string, query: string): Promise<readonly Trade[]> {
  const trades: Trade[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const { data, meta } = await from.get(`${path}/trades?${query}&limit=100${cursor && `&cursor=${cursor}`}`)
    trades.push(...data)
    cursor = meta.next_cursor
  }
  return trades
}

test('A21 trades can come in an order that is none, the same ones on the same pages', async () => {
  const { path, query } = busiestWallet(stage, 'solana')
  const inOrder = await everyTrade(stage, path, query)
  await using shuffled = await createRestStage({ hours: 6, settings: { tradesOrder: 'shuffled' } })
  const mixed = await everyTrade(shuffled, path, query)
  expect(mixed.map(({ tx_hash }) => tx_hash)).not.toEqual(inOrder.map(({ tx_hash }) => tx_hash))
  const byHash = (a: Trade, b: Trade) => (a.tx_hash < b.tx_hash ? -1 : 1)
  expect(mixed.slice(0, 100).toSorted(byHash)).toEqual(inOrder.slice(0, 100).toSorted(byHash))
  expect(await everyTrade(shuffled, path, query)).toEqual(mixed)
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
  expect(await refused(`${path}/portfolio?${query}&cursor=${cursor}`)).toContain('a cursor of this list')
  expect(await refused(`${other.path}/trades?${other.query}&cursor=${cursor}`)).toContain('a cursor of this list')
  const { wallet } = stage.world.acts.apply({
    kind: 'trade',
    network: 'ethereum',
    wallet: unseen.evm,
    token: stage.world.views.tokens().find(({ network }) => network === 'ethereum')?.address ?? '',
    side: 'buy',
    usd: 100,
  })
  expect(await refused(`/v1/wallets/${String(wallet)}/trades?${query}&cursor=${cursor}`)).toContain(
    'a cursor of this list',
  )
  expect(await refused(`${path}/trades?${query}&token=${token}&cursor=${cursor}`)).toContain('a cursor of this list')
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
  expect([status, body.error.message]).toEqual([400, expect.stringContaining('of a future moment')])
  expect((await restored.request(`${list}&cursor=${early}`)).status).toBe(200)
})
