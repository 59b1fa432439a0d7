import { liquidityMicro } from './audit.ts'
import { abandon } from './contracts.ts'
import { coinPrice, holdingAt, holdingOf, plan, tokenAt, walletAt, type Core } from './core.ts'
import { tradeAtOnce } from './rules.ts'
import { executeBuy, executeBuyUsd, executeSell, executeSellAll, executeSwap } from './trading.ts'
import { poolRatio } from './exchange.ts'
import { toUsd } from './numbers.ts'
import type { Archetype } from './port.ts'
import { changePct, worth } from './prices.ts'
import type { WalletState } from './state.ts'
import { hourMs, minuteMs } from '../../base/clock.ts'

interface Habits {
  /** Wallets per network. */
  readonly count: number
  /** Initial funds in USD. */
  readonly budgetUsd: readonly [number, number]
  /** Mean time between two wake-ups; null = the wallet reacts to occasions only. */
  readonly wakeMs: number | null
  readonly sizeUsd: readonly [number, number]
  readonly holdMs: readonly [number, number]
}

/** Trading habits per archetype. */
export const habits: Readonly<Record<Archetype, Habits>> = {
  whale: {
    count: 2,
    budgetUsd: [2_000_000, 8_000_000],
    wakeMs: 80 * minuteMs,
    sizeUsd: [15_000, 120_000],
    holdMs: [2 * hourMs, 9 * hourMs],
  },
  sniper: {
    count: 3,
    budgetUsd: [20_000, 90_000],
    wakeMs: null,
    sizeUsd: [300, 3500],
    holdMs: [4 * minuteMs, 70 * minuteMs],
  },
  momentum: {
    count: 4,
    budgetUsd: [30_000, 150_000],
    wakeMs: 35 * minuteMs,
    sizeUsd: [500, 8000],
    holdMs: [40 * minuteMs, 3 * hourMs],
  },
  dip: {
    count: 4,
    budgetUsd: [30_000, 150_000],
    wakeMs: 45 * minuteMs,
    sizeUsd: [400, 6000],
    holdMs: [hourMs, 5 * hourMs],
  },
  bot: { count: 12, budgetUsd: [4_000_000, 4_000_000], wakeMs: null, sizeUsd: [50, 20_000], holdMs: [0, 0] },
  dormant: {
    count: 22,
    budgetUsd: [3000, 40_000],
    wakeMs: 20 * hourMs,
    sizeUsd: [100, 3000],
    holdMs: [100 * hourMs, 400 * hourMs],
  },
}

/** Maximum size of a purchase, as a share of the pool's liquidity. */
const maxShareOfPool = 0.025
/** Minimum gap between pool price and fair price that is worth a trade: about the fee. */
const minGap = 0.0035
/** Probability of skipping a step without a worthwhile gap. */
const idleShare = 0.9
/** Standard deviation of the fair price per step. */
const marketStep = 0.0042

/** A wallet reviews its positions and the market. */
export function wake(core: Core, wallet: number): void {
  const owner = walletAt(core, wallet)
  const { archetype, stream } = owner
  if (archetype === null) return
  const { wakeMs } = habits[archetype]
  if (wakeMs !== null) plan(core, { kind: 'wake', wallet }, wakeMs * (0.05 + core.chance.exponential(stream)))
  tradeAtOnce(core, () => trade(core, wallet, archetype))
}

function trade(core: Core, wallet: number, archetype: Archetype): void {
  const owner = walletAt(core, wallet)
  const { stream } = owner
  for (const index of owner.open) considerSale(core, wallet, owner, archetype, holdingAt(core, index).token)
  const token = chooseToken(core, owner, archetype)
  if (token === null || core.chance.uniform(stream) < 0.3) return
  if (archetype === 'momentum' && owner.open.size > 0 && core.chance.uniform(stream) < 0.12) rotate(core, wallet, token)
  else executeBuyUsd(core, wallet, token, sizeOf(core, owner, archetype, token))
}

/** Sells whole positions only. */
function considerSale(core: Core, wallet: number, owner: WalletState, archetype: Archetype, token: number): void {
  const holding = holdingOf(core, wallet, token)
  if (holding === undefined || holding.balance === 0n) return
  const [shortest, longest] = habits[archetype].holdMs
  const heldMs = (core.state.now - holding.openedAt) * core.state.activity
  const gain = holding.cost === 0n ? 0 : Number((worth(core, token, holding.balance) * 1000n) / holding.cost) / 1000 - 1
  const isHeldLongEnough = heldMs > core.chance.between(owner.stream, shortest, longest)
  const isBeyondLimit = archetype !== 'dormant' && archetype !== 'whale' && (gain > 0.12 || gain < -0.1)
  if (isHeldLongEnough || isBeyondLimit) executeSellAll(core, wallet, token)
}

/** Swaps one position for another in one transaction. */
function rotate(core: Core, wallet: number, to: number): void {
  const from = [...walletAt(core, wallet).open]
    .map((index) => holdingAt(core, index).token)
    .find((token) => token !== to)
  if (from !== undefined) executeSwap(core, wallet, from, to)
}

function chooseToken(core: Core, { network, stream }: WalletState, archetype: Archetype): number | null {
  const markets = core.directory.markets[network].filter(
    (token) => !tokenAt(core, token).risk.checks.includes('cannot_sell'),
  )
  if (markets.length === 0) return null
  const candidates = [0, 1, 2, 3].map(() => core.chance.pick(stream, markets))
  const byChange = () => candidates.toSorted((a, b) => changePct(core, b, hourMs) - changePct(core, a, hourMs) || a - b)
  if (archetype === 'momentum') return byChange()[0] ?? null
  if (archetype === 'dip') return byChange().at(-1) ?? null
  return candidates[0] ?? null
}

function sizeOf(core: Core, { stream }: WalletState, archetype: Archetype, token: number): number {
  const [low, high] = habits[archetype].sizeUsd
  const bought = tokenAt(core, token)
  const maxUsd = toUsd(liquidityMicro(bought, coinPrice(core, bought.network))) * maxShareOfPool
  return Math.min(core.chance.between(stream, low, high), Math.max(20, maxUsd))
}

/** Snipers buy a new token within a minute, and sell it within about an hour. */
export function planSniperPurchases(core: Core, token: number): void {
  const { network, stream } = tokenAt(core, token)
  core.state.wallets.forEach((owner, wallet) => {
    const { network: home, archetype } = owner
    if (home !== network || archetype !== 'sniper' || core.chance.uniform(stream) > 0.6) return
    const [low, high] = habits.sniper.sizeUsd
    const usd = core.chance.between(stream, low, high)
    plan(core, { kind: 'buy', wallet, token, usd }, core.chance.between(stream, 1500, 45_000))
  })
}

/** Executes a planned purchase and plans the later sale. */
export function buyAsPlanned(core: Core, wallet: number, token: number, usd: number): void {
  const { stream, archetype } = walletAt(core, wallet)
  if (executeBuyUsd(core, wallet, token, usd) === null || archetype === null) return
  const [shortest, longest] = habits.sniper.holdMs
  plan(core, { kind: 'sell', wallet, token }, core.chance.between(stream, shortest, longest))
}

/** Ends the market of a token after about a day: market makers sell first. */
export function retire(core: Core, token: number): void {
  const { network, isAbandoned } = tokenAt(core, token)
  if (isAbandoned) return
  for (const bot of core.directory.bots[network]) executeSellAll(core, bot, token)
  abandon(core, token)
}

/** One step of a token's market: the fair price moves, and a bot trades the pool towards it. */
export function makeMarket(core: Core, token: number): void {
  const traded = tokenAt(core, token)
  const { pool, stream } = traded
  if (pool === null || traded.isAbandoned) return
  plan(core, { kind: 'market', token }, core.chance.between(stream, 0.3, 1.2) * minuteMs)
  const ratio = poolRatio(traded)
  // After a deep fall the ratio rounds to 0. Nobody trades before a rise.
  if (ratio === 0n) return
  const step = BigInt(Math.round(core.chance.normal(stream) * marketStep * 1e9))
  const moved = traded.fair + (traded.fair * step) / 1_000_000_000n
  // The fair price drifts back to the pool price.
  traded.fair = (moved * 98n + ratio * 2n) / 100n
  const gap = Number((traded.fair * 1_000_000n) / ratio) / 1e6 - 1
  // Without a worthwhile gap, a small trade in a random direction.
  const isIdle = Math.abs(gap) < minGap
  if (isIdle && core.chance.uniform(stream) > idleShare) return
  const isRising = isIdle ? core.chance.uniform(stream) < 0.5 : gap > 0
  const share = isIdle ? core.chance.between(stream, 0.0002, 0.0015) : Math.min(0.02, Math.sqrt(1 + gap) - 1)
  const bots = core.directory.bots[traded.network]
  const first = core.chance.integer(stream, 0, bots.length - 1)
  const inTurn = [...bots.slice(first), ...bots.slice(0, first)]
  const balanceOf = (bot: number) => holdingOf(core, bot, token)?.balance ?? 0n
  const bot = inTurn.find((wallet) => balanceOf(wallet) > 0n !== isRising)
  if (bot === undefined) return
  if (isRising) executeBuy(core, bot, token, (pool.coins * BigInt(Math.round(share * 1e6))) / 1_000_000n)
  else executeSell(core, bot, token, balanceOf(bot))
}
