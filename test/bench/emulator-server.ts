import { setFlagsFromString } from 'node:v8'
import { createEmulator } from '../../src/emulator/emulator.ts'

// An emulator whose clock stands still after a history of some days. It sends its parent the paths that can be read.
// The same V8 flags as `onchain-inbox emulator`.
setFlagsFromString('--heap-growing-percent=30')
setFlagsFromString('--semi-space-growth-factor=1')
const apiKey = 'bench-api-key-0123456789'
const days = Number(process.argv[2])
const startedAt = performance.now()
const emulator = createEmulator({
  seed: {
    world: { seed: 'bench', history: `${days * 24}h` },
    clock: { mode: 'manual' },
    accounts: [{ name: 'bench', plan: 'unlimited', keys: [{ name: 'bench', key: apiKey, scopes: 'all' }] }],
  },
  listen: { host: '127.0.0.1', port: 0 },
})
await emulator.start()
const startMs = performance.now() - startedAt

const { views } = emulator.world
const wallets = views.wallets()
const trades = wallets.reduce((sum, { tradeCount }) => sum + tradeCount, 0)
// The wallets with the most trades on an EVM network and on Solana, and one with few.
const byCount = wallets.filter(({ tradeCount }) => tradeCount > 20).toSorted((a, b) => b.tradeCount - a.tradeCount)
const chosen = [
  byCount.find(({ network }) => network !== 'solana'),
  byCount.find(({ network }) => network === 'solana'),
  byCount.at(-1),
].flatMap((wallet) => (wallet ? ([`/v1/wallets/${wallet.address}`, wallet.network] as const) : []))
const paths = (tail: string) =>
  chosen.flatMap((path, index) => (index % 2 === 0 ? [`${path}${tail}?network=${chosen[index + 1]}`] : []))
const tokens = views.tokens().slice(0, 20)

process.send?.({
  port: Number(new URL(emulator.url ?? '').port),
  apiKey,
  startMs,
  trades,
  tokens: views.tokens().length,
  operations: {
    overview: paths(''),
    portfolio: paths('/portfolio'),
    pnl: paths('/pnl'),
    trades: paths('/trades'),
    token: tokens.map(({ address, network }) => `/v1/tokens/${address}?network=${network}`),
    search: ['/v1/tokens/search?q=mo', '/v1/tokens/search?q=wizard&network=solana'],
    networks: ['/v1/networks'],
  },
})
process.on('SIGTERM', () => void emulator.stop().then(() => process.exit(0)))
