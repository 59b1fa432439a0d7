import { ApiError, createClient } from 'onchain-inbox/client'
import { createEmulator } from 'onchain-inbox/emulator'
import { expect, test } from 'vitest'
import { largestPositions } from './client-portfolio.ts'

const apiKey = 'sk_api-key-of-the-example'

test('R52 the largest positions of a wallet, from the emulator', async () => {
  await using emulator = createEmulator({
    seed: {
      world: { seed: 'example', history: '2h' },
      clock: { mode: 'manual' },
      accounts: [{ name: 'desk', plan: 'free', keys: [{ name: 'first', key: apiKey, scopes: ['read:wallets'] }] }],
    },
    listen: { host: '127.0.0.1', port: 0 },
  })
  await emulator.start()
  const wallet = { address: `0x${'c0ffee'.padStart(40, '0')}`, network: 'base' } as const
  const tokens = emulator.world.views.tokens().filter(({ network }) => network === 'base')
  for (const { address: token } of tokens.slice(0, 3)) {
    const { address, network } = wallet
    emulator.world.commands.apply({ kind: 'trade', network, wallet: address, token, side: 'buy', usd: 1_000 })
  }

  const api = createClient({ baseUrl: `${emulator.url}/v1`, apiKey })
  const largest = await largestPositions(api, wallet, 2)
  expect(largest).toEqual({ symbols: [expect.any(String), expect.any(String)], totalUsd: expect.any(Number), of: 3 })

  const unknown = largestPositions(api, { ...wallet, address: `0x${'1'.repeat(40)}` })
  await expect(unknown).rejects.toThrow(ApiError)
  await expect(unknown).rejects.toMatchObject({ status: 404, isRetryable: false })
})
