import { expect, test } from 'vitest'
import { startStage, testSeed, type Stage } from './emulator-stage.ts'

const startWithHistory = () => startStage({ seed: testSeed({ world: { seed: 'test', history: '6h' } }) })

async function list(stage: Stage, path: string): Promise<Record<string, unknown>[]> {
  const { status, json, text } = await stage.control('GET', path)
  expect([path, status, text]).toEqual([path, 200, text])
  return json.data
}

/** All that a list has, page by page. */
async function listAll(stage: Stage, path: string, limit: number) {
  const all: Record<string, unknown>[] = []
  for (;;) {
    const page = await list(stage, `${path}&limit=${limit}&after=${Number(all.at(-1)?.['seq'] ?? 0)}`)
    all.push(...page)
    if (page.length < limit) return all
  }
}

test('tokens are listed page by page, also of one network, each found by its address in REST', async () => {
  await using stage = await startWithHistory()
  const whole = await list(stage, '/world/tokens?limit=1000')
  expect(whole.length).toBeGreaterThan(10)
  expect(await listAll(stage, '/world/tokens?', 7)).toEqual(whole)
  const ofBase = await list(stage, '/world/tokens?limit=1000&network=base')
  expect(ofBase).toEqual(whole.filter(({ network }) => network === 'base'))
  const [{ address, symbol, name, price_usd } = {}] = ofBase
  const { json } = await stage.rest(`/tokens/${String(address)}?network=base`)
  expect(json.data).toMatchObject({ symbol, name, price_usd })
})

test('wallets are listed by network, archetype and whether they are tracked, with how many trades they have', async () => {
  await using stage = await startWithHistory()
  const whole = await list(stage, '/world/wallets?limit=1000')
  expect(await listAll(stage, '/world/wallets?', 50)).toEqual(whole)
  const whales = await list(stage, '/world/wallets?archetype=whale&network=ethereum')
  expect(whales.length).toBeGreaterThan(0)
  expect(whales).toEqual(whole.filter((one) => one['archetype'] === 'whale' && one['network'] === 'ethereum'))
  const tracked = await list(stage, '/world/wallets?tracked=true&limit=1000')
  const { trackedWallets } = (await stage.control('GET', '/world')).json.data
  expect(tracked.map(({ network, address }) => ({ network, address }))).toEqual(trackedWallets)
  expect(await list(stage, '/world/wallets?tracked=false&limit=1000')).toHaveLength(whole.length - tracked.length)
  const active = tracked.find(({ tradeCount }) => Number(tradeCount) > 0)
  const { json } = await stage.rest(`/wallets/${String(active?.['address'])}?network=${String(active?.['network'])}`)
  expect(json.data.total_trades_all_time).toBe(active?.['tradeCount'])
})

test('events are listed oldest or newest first, also of one type', async () => {
  await using stage = await startWithHistory()
  const whole = await list(stage, '/events?limit=1000')
  expect(whole.length).toBeGreaterThan(100)
  expect(await list(stage, '/events?order=newest&limit=1000')).toEqual(whole.toReversed())
  const last = whole.length
  const before = await list(stage, `/events?order=newest&limit=2&after=${last}`)
  expect(before.map(({ seq }) => seq)).toEqual([last - 1, last - 2])
  const typeOf = (one: Record<string, unknown>) => (one['event'] as { type: string }).type
  const ofType = whole.filter((one) => typeOf(one) === 'wallet.large_trade')
  expect(ofType.length).toBeGreaterThan(1)
  expect(await list(stage, '/events?type=wallet.large_trade&limit=1000')).toEqual(ofType)
  expect(await list(stage, '/events?type=wallet.large_trade&order=newest&limit=1')).toEqual(ofType.slice(-1))
})
