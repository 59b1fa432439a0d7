import { afterAll, beforeAll, expect, test } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 24 })
})
afterAll(() => stage[Symbol.asyncDispose]())

const isoUtc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const cents = (value: number) => Math.round(value * 100)

/** The busiest wallet of each network, and whoever has lost the most on paper. */
const wallets = () => networkIds.map((network) => busiestWallet(stage, network))

async function everyPosition(path: string, query: string) {
  const { data, meta } = await stage.get(`${path}/portfolio?${query}&limit=100`)
  expect(meta.next_cursor).toBe(null)
  return { positions: data as readonly Readonly<Record<string, number>>[], total: meta.total }
}

test('R16 R51 an overview has exactly its ten fields, of their types, for every network', async () => {
  for (const { path, query, address, network } of wallets()) {
    const { data, meta } = await stage.get(`${path}?${query}`)
    expect(data).toEqual({
      address,
      network,
      portfolio_value_usd: expect.any(Number),
      total_tokens_held: expect.any(Number),
      total_trades_all_time: expect.any(Number),
      first_active: expect.stringMatching(isoUtc),
      last_active: expect.stringMatching(isoUtc),
      is_whale: expect.any(Boolean),
      pnl_30d_usd: expect.any(Number),
      roi_30d_pct: expect.any(Number),
    })
    expect(Number.isInteger(data.total_tokens_held) && Number.isInteger(data.total_trades_all_time)).toBe(true)
    expect(data.first_active <= data.last_active && data.last_active <= meta.timestamp).toBe(true)
    expect(meta.network).toBe(network)
  }
})

test('A11 every owner that an event names is known at every wallet endpoint', async () => {
  const owners = stage.world.eventsAfter(0, Infinity).flatMap(({ event }) => {
    if (event.type !== 'contract.ownership_changed') return []
    const { network, previous_owner, new_owner } = event.data
    return [previous_owner, new_owner].map((address) => ({ network, address }))
  })
  expect(owners.length).toBeGreaterThan(5)
  for (const { network, address } of owners) {
    for (const rest of ['', '/portfolio', '/pnl', '/trades']) {
      expect(await stage.get(`/v1/wallets/${address}${rest}?network=${network}`)).toMatchObject({ success: true })
    }
  }
})

test('R17 pnl_30d_usd and roi_30d_pct of an overview equal those of GET pnl?timeframe=30d', async () => {
  for (const { path, query } of wallets()) {
    const { data: overview } = await stage.get(`${path}?${query}`)
    const { data: summary } = await stage.get(`${path}/pnl?${query}&timeframe=30d`)
    expect([overview.pnl_30d_usd, overview.roi_30d_pct]).toEqual([summary.pnl.total_usd, summary.pnl.roi_pct])
  }
})

test('R18 A5 some wallets are whales, others are not: a portfolio of 1,000,000 USD makes one', async () => {
  const seen = new Set<boolean>()
  for (const { network, address, tradeCount } of stage.world.views.wallets()) {
    if (tradeCount === 0 || network !== 'ethereum') continue
    const { data } = await stage.get(`/v1/wallets/${address}?network=${network}`)
    seen.add(data.is_whale)
    if (data.portfolio_value_usd >= 1_000_000) expect(data.is_whale).toBe(true)
  }
  expect(seen).toEqual(new Set([true, false]))
})

test('R19 R52 R53 the positions of a wallet agree with each other and with its overview', async () => {
  for (const { path, query } of wallets()) {
    const { positions, total } = await everyPosition(path, query)
    const { data: overview } = await stage.get(`${path}?${query}`)
    const { meta } = await stage.get(`${path}/trades?${query}&limit=1`)
    for (const position of positions) {
      const { balance = NaN, price_usd = NaN, value_usd = NaN, cost_basis_usd = NaN } = position
      expect(Object.keys(position).toSorted()).toEqual([
        'allocation_pct',
        'balance',
        'cost_basis_usd',
        'name',
        'price_usd',
        'symbol',
        'token_address',
        'unrealised_pnl_pct',
        'unrealised_pnl_usd',
        'value_usd',
      ])
      expect(value_usd).toBeCloseTo(balance * price_usd, 1)
      const gain = position['unrealised_pnl_usd'] ?? NaN
      expect(cents(gain)).toBe(cents(value_usd) - cents(cost_basis_usd))
      expect(position['unrealised_pnl_pct']).toBeCloseTo(cost_basis_usd === 0 ? 0 : (gain / cost_basis_usd) * 100, 4)
    }
    const sum = (name: string) => positions.reduce((all, position) => all + (position[name] ?? NaN), 0)
    if (positions.length > 0) expect(Math.abs(sum('allocation_pct') - 100)).toBeLessThanOrEqual(0.05)
    expect(cents(overview.portfolio_value_usd)).toBe(cents(sum('value_usd')))
    expect([overview.total_tokens_held, positions.length]).toEqual([total, total])
    expect(overview.total_trades_all_time).toBe(meta.total)
  }
})

test('R20 positions spell unrealised, PnL spells unrealized', async () => {
  const { path, query } = busiestWallet(stage, 'solana')
  const { positions } = await everyPosition(path, query)
  expect(Object.keys(positions[0] ?? {}).filter((name) => name.startsWith('unreali'))).toEqual([
    'unrealised_pnl_usd',
    'unrealised_pnl_pct',
  ])
  const { data } = await stage.get(`${path}/pnl?${query}`)
  expect(Object.keys(data.pnl)).toEqual(['realized_usd', 'unrealized_usd', 'total_usd', 'roi_pct'])
})

test('R21 R54 a PnL summary echoes its timeframe, which is 30d by default', async () => {
  const { path, query, address, network } = busiestWallet(stage, 'solana')
  for (const timeframe of ['24h', '7d', '30d', 'all', undefined]) {
    const given = timeframe === undefined ? '' : `&timeframe=${timeframe}`
    const { data, meta } = await stage.get(`${path}/pnl?${query}${given}`)
    expect(data).toMatchObject({ wallet: address, network, timeframe: timeframe ?? '30d' })
    expect(Object.keys(data)).toEqual(['wallet', 'network', 'timeframe', 'pnl'])
    expect(meta.network).toBe(network)
  }
  for (const timeframe of ['1d', '30D', '', 'ALL', '30']) {
    const { status, body } = await stage.request(`${path}/pnl?${query}&timeframe=${timeframe}`)
    expect([status, body.error.details[0].path]).toEqual([400, 'timeframe'])
  }
})

test('R23 R24 unrealized is the sum over open positions, and total is realized plus unrealized to the cent', async () => {
  for (const { path, query } of wallets()) {
    const { positions } = await everyPosition(path, query)
    for (const timeframe of ['24h', '7d', '30d', 'all']) {
      const { data } = await stage.get(`${path}/pnl?${query}&timeframe=${timeframe}`)
      const { realized_usd, unrealized_usd, total_usd } = data.pnl
      expect(cents(total_usd)).toBe(cents(realized_usd) + cents(unrealized_usd))
      const open = positions.reduce((sum, position) => sum + (position['unrealised_pnl_usd'] ?? NaN), 0)
      expect(cents(unrealized_usd)).toBe(cents(open))
    }
  }
})

test('R22 R25 A12 a position counts as realized when it is closed: what came in less what it cost', async () => {
  const wallet = `0x${'a1'.repeat(20)}`
  const path = `/v1/wallets/${wallet}`
  const [token] = stage.world.views.tokens().filter(({ network }) => network === 'ethereum')
  const trade = (act: { side: 'buy' | 'sell'; usd?: number; fraction?: number }) =>
    stage.world.acts.apply({ kind: 'trade', network: 'ethereum', wallet, token: token?.address ?? '', ...act })
  const pnl = async () => (await stage.get(`${path}/pnl?network=ethereum&timeframe=all`)).data.pnl

  trade({ side: 'buy', usd: 5_000 })
  expect(await pnl()).toMatchObject({ realized_usd: 0 })
  stage.world.acts.apply({ kind: 'price-move', network: 'ethereum', token: token?.address ?? '', percent: 30 })
  trade({ side: 'sell', fraction: 0.5 })
  const half = await pnl()
  expect(half.realized_usd).toBe(0)
  trade({ side: 'sell', fraction: 1 })
  const { realized_usd, unrealized_usd, total_usd, roi_pct } = await pnl()
  const { data: trades } = await stage.get(`${path}/trades?network=ethereum`)
  const [cost, gain] = [
    trades[2].token_in.value_usd,
    trades[0].token_out.value_usd + trades[1].token_out.value_usd - 5_000,
  ]
  expect([cost, unrealized_usd, total_usd]).toEqual([5_000, 0, realized_usd])
  expect(realized_usd).toBeCloseTo(gain, 1)
  expect(roi_pct).toBeCloseTo((gain / cost) * 100, 2)
})

test('R26 PnL is in USD at current rates: when the price moves, so does what is unrealized', async () => {
  const wallet = `0x${'a2'.repeat(20)}`
  const [token] = stage.world.views.tokens().filter(({ network }) => network === 'base')
  const named = { network: 'base', token: token?.address ?? '' } as const
  stage.world.acts.apply({ kind: 'trade', wallet, side: 'buy', usd: 1_000, ...named })
  const unrealized = async () =>
    (await stage.get(`/v1/wallets/${wallet}/pnl?network=base`)).data.pnl.unrealized_usd as number
  const before = await unrealized()
  stage.world.acts.apply({ kind: 'price-move', percent: 50, ...named })
  expect((await unrealized()) - before).toBeCloseTo(500, -1)
})

test('R27 a story shows a wallet with unrealized < 0 < total', async () => {
  const { wallet, network } = stage.world.acts.apply({ kind: 'story', story: 'bag-holder' })
  for (let minutes = 0; minutes < 240; minutes += 5) {
    const { body } = await stage.request(`/v1/wallets/${String(wallet)}/pnl?network=${String(network)}`)
    if (body.data?.pnl.unrealized_usd < 0 && body.data.pnl.total_usd > 0) return
    await stage.clock.advance(5 * 60_000)
  }
  expect.fail('no moment of four hours showed it')
})

test('A9 an EVM address is taken in any case and shown with its checksum; one of Solana keeps its case', async () => {
  const evm = busiestWallet(stage, 'ethereum')
  for (const address of [evm.address.toLowerCase(), `0x${evm.address.slice(2).toUpperCase()}`]) {
    expect((await stage.get(`/v1/wallets/${address}?network=ethereum`)).data.address).toBe(evm.address)
  }
  const solana = busiestWallet(stage, 'solana')
  const { status } = await stage.request(`/v1/wallets/${solana.address.toLowerCase()}?network=solana`)
  expect([400, 404]).toContain(status)

  await using strict = await createRestStage({ hours: 1, settings: { strictChecksum: true } })
  const { address } = busiestWallet(strict, 'ethereum')
  const swapped = address.replace(/[a-f]/, (letter) => letter.toUpperCase())
  expect((await strict.request(`/v1/wallets/${swapped}?network=ethereum`)).body.error.message).toContain('EIP-55')
  expect((await strict.request(`/v1/wallets/${address}?network=ethereum`)).status).toBe(200)
})

test.each(['', '/portfolio', '/pnl', '/trades'])(
  'A11 wallets%s of an address that was never seen is 404, and of another network family 400',
  async (part) => {
    const known = busiestWallet(stage, 'ethereum').address
    const ask = async (address: string, network: string) => {
      const { status, body } = await stage.request(`/v1/wallets/${address}${part}?network=${network}`)
      return [status, body.error?.code]
    }
    expect(await ask(unseen.evm, 'ethereum')).toEqual([404, 'wallet_not_found'])
    expect(await ask(unseen.solana, 'solana')).toEqual([404, 'wallet_not_found'])
    expect(await ask(known, 'avalanche')).toEqual([404, 'wallet_not_found'])
    expect(await ask(known, 'solana')).toEqual([400, 'invalid_request'])
    expect(await ask(unseen.solana, 'base')).toEqual([400, 'invalid_request'])
    expect(await ask('0x123', 'base')).toEqual([400, 'invalid_request'])
  },
)
