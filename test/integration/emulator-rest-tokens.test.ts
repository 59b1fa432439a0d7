import { afterAll, beforeAll, expect, test } from 'vitest'
import type { networkIds } from '../../schema/index.ts'
import type { networkStatuses } from '../../schema/rest/network.ts'
import { busiestWallet, createRestStage, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 6 })
})
afterAll(() => stage[Symbol.asyncDispose]())

const setStatus = (network: (typeof networkIds)[number], status: (typeof networkStatuses)[number]) =>
  stage.world.acts.apply({ kind: 'network-status', network, status })

test('R38 R40 R59 A6 the list of networks has the seven of them, each with exactly its six fields', async () => {
  const { data, meta } = await stage.get('/v1/networks')
  const facts = [
    ['ethereum', 1, 'ETH'],
    ['bnb', 56, 'BNB'],
    ['solana', null, 'SOL'],
    ['polygon', 137, 'POL'],
    ['base', 8453, 'ETH'],
    ['avalanche', 43_114, 'AVAX'],
    ['arbitrum', 42_161, 'ETH'],
  ] as const
  expect(data).toEqual(
    facts.map(([id, chain_id, native_currency]) => ({
      id,
      name: expect.stringMatching(/^[A-Z]/),
      chain_id,
      native_currency,
      status: 'operational',
      features: ['tokens', 'wallets', 'contracts', 'liquidity'],
    })),
  )
  expect(Object.keys(meta)).toEqual(['timestamp', 'latency_ms'])
})

test('A18 a degraded network answers 300 to 2000 ms of real time later, and latency_ms shows it', async () => {
  setStatus('bnb', 'degraded')
  const { path } = busiestWallet(stage, 'bnb')
  const latencies = []
  for (let count = 0; count < 8; count++) {
    const answer = stage.get(`${path}?network=bnb`)
    while (stage.wall.nextTimerAt() === null) await new Promise((resolve) => setImmediate(resolve))
    await stage.wall.advance((stage.wall.nextTimerAt() ?? 0) - stage.wall.now())
    latencies.push((await answer).meta.latency_ms as number)
  }
  expect(Math.min(...latencies)).toBeGreaterThanOrEqual(300)
  expect(Math.max(...latencies)).toBeLessThanOrEqual(2_000)
  expect(new Set(latencies).size).toBeGreaterThan(1)
  setStatus('bnb', 'operational')
})
