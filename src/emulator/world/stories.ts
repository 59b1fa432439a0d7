import { networkIds, type NetworkId } from '../../../schema/index.ts'
import { lureSnipers } from './agents.ts'
import { isHoneypot, isRenounced } from './audit.ts'
import { abandon, changeContract, makeHoneypot, removeLiquidity, transferOwner } from './contracts.ts'
import { coinsForUsd, holdersOf, holdingAt, plan, tokenAt, usdOfCoins, walletAt, type Core } from './core.ts'
import { executeBuy, executeBuyUsd, executeSellAll } from './trading.ts'
import { atRaisedPrice, canEarn, canMovePrice, earn, openTracked } from './interventions.ts'
import { freshName } from './names.ts'
import { honeypotTypes, WorldRefusal, type CommandResult, type StoryName } from './port.ts'
import { marketsOf } from './prices.ts'
import { tradeAtOnce } from './rules.ts'
import type { DailyStory } from './state.ts'
import { createCurveToken, createListedToken } from './token-creation.ts'
import { addressFor, fund } from './wallets.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

/** Starts per day of each story, spread evenly. */
export const storiesPerDay: Readonly<Record<DailyStory, number>> = {
  scam: 5,
  listing: 8,
  launch: 30,
  ownership: 3,
  withdrawal: 2,
  crash: 2,
  'bag-holder': 1,
}

const graduatingShare = 0.55
/** Price at which a bag holder buys, as a multiple of the later price. */
const bagRise = 1.14

/** Plans the next story of a kind, within its next share of the day. */
export function planDailyStory(core: Core, story: DailyStory, round: number): void {
  const partMs = dayMs / storiesPerDay[story]
  const elapsed = core.chance.between(core.state.streams.stories, 0, 0.8) * partMs
  // The rest of the previous share, then a part of the next.
  const waitMs = round === 0 ? elapsed : partMs * 0.2 + elapsed
  plan(core, { kind: 'daily', story, round }, waitMs)
}

export function runDailyStory(core: Core, story: DailyStory, round: number): void {
  planDailyStory(core, story, round + 1)
  runStory[story](core)
}

const runStory: Readonly<Record<DailyStory, (core: Core) => void>> = {
  scam: (core) => void startScam(core, pickNetwork(core)),
  listing: (core) => void startListing(core, pickNetwork(core)),
  launch: (core) => void startLaunch(core),
  ownership: changeSomeOwner,
  withdrawal: withdrawSomeLiquidity,
  crash: (core) => {
    const token = pickEstablished(core)
    if (token !== null) startCrash(core, token)
  },
  'bag-holder': (core) => void makeBagHolder(core, pickNetwork(core)),
}

/** A scam: listing → hidden owner → honeypot → liquidity removed. Returns the token. */
function startScam(core: Core, network: NetworkId): number {
  const { stories, names } = core.state.streams
  const token = createListedToken(core, {
    network,
    ...freshName(core.chance, names),
    liquidityUsd: core.chance.between(stories, 15_000, 90_000),
    allocationPct: core.chance.integer(stories, 0, 20),
    isAnnounced: true,
    contract: { isMintable: core.chance.uniform(stories) < 0.5 },
  })
  lureSnipers(core, token)
  plan(core, { kind: 'scam', token, step: 1 }, core.chance.between(stories, 10, 40) * minuteMs)
  return token
}

export function continueScam(core: Core, token: number, step: number): void {
  const { stories } = core.state.streams
  const { network } = tokenAt(core, token)
  const wait = (low: number, high: number) => core.chance.between(stories, low, high) * minuteMs
  if (step === 1) {
    transferOwner(core, token, addressFor(core, network, `scammer:${token}`))
    plan(core, { kind: 'scam', token, step: 2 }, wait(15, 60))
  } else if (step === 2) {
    makeHoneypot(core, token, core.chance.pick(stories, honeypotTypes))
    lureSnipers(core, token)
    plan(core, { kind: 'scam', token, step: 3 }, wait(20, 90))
  } else {
    removeLiquidity(core, token, core.chance.integer(stories, 8500, 9900))
    abandon(core, token)
  }
}

/** A regular listing: a pool, snipers, then a market. Returns the token. */
export function startListing(core: Core, network: NetworkId): number {
  const { stories, names } = core.state.streams
  const token = createListedToken(core, {
    network,
    ...freshName(core.chance, names),
    liquidityUsd: core.chance.between(stories, 12_000, 250_000),
    allocationPct: core.chance.integer(stories, 0, 30),
    isAnnounced: true,
    isOwnerRenounced: core.chance.uniform(stories) < 0.4,
    contract: { isLiquidityLocked: core.chance.uniform(stories) < 0.6, isProxy: core.chance.uniform(stories) < 0.2 },
  })
  lureSnipers(core, token)
  return token
}

/** Launches a token on its bonding curve; more than half of them graduate. Returns the token. */
function startLaunch(core: Core): number {
  const { stories, names } = core.state.streams
  const { symbol, name } = freshName(core.chance, names)
  const token = createCurveToken(core, symbol, name)
  lureSnipers(core, token)
  const graduates = core.chance.uniform(stories) < graduatingShare
  const left = graduates ? 1000 : core.chance.integer(stories, 3, 14)
  plan(core, { kind: 'launch', token, left }, core.chance.between(stories, 5000, 30_000))
  return token
}

/** A random wallet buys on the curve. */
export function continueLaunch(core: Core, token: number, left: number): void {
  const { stories } = core.state.streams
  if (tokenAt(core, token).curve === null) {
    lureSnipers(core, token)
    return
  }
  const crowd = core.state.wallets.flatMap(({ network, archetype }, wallet) =>
    network === 'solana' && archetype !== null && archetype !== 'bot' && archetype !== 'whale' ? [wallet] : [],
  )
  const wallet = core.chance.pick(stories, crowd)
  const coins = BigInt(Math.round(core.chance.between(stories, 0.6, 4.5) * 1e9))
  fund(core, wallet, coins)
  if (executeBuy(core, wallet, token, coins) !== null && core.chance.uniform(stories) < 0.7) {
    plan(core, { kind: 'sell', wallet, token }, core.chance.between(stories, 60, 300) * minuteMs)
  }
  if (left > 1) plan(core, { kind: 'launch', token, left: left - 1 }, core.chance.between(stories, 15_000, 95_000))
}

/** A crash: the largest holders sell one after the other, and the fair price falls. */
function startCrash(core: Core, token: number): void {
  const crashed = tokenAt(core, token)
  crashed.fair = (crashed.fair * 7n) / 10n
  plan(core, { kind: 'crash', token, left: core.chance.integer(core.state.streams.stories, 4, 9) }, 1000)
}

export function continueCrash(core: Core, token: number, left: number): void {
  const { creator } = tokenAt(core, token)
  const [largest] = [...holdersOf(core, token)]
    .map((index) => holdingAt(core, index))
    .filter(({ wallet }) => wallet !== creator)
    .toSorted((a, b) => (a.balance === b.balance ? a.wallet - b.wallet : a.balance < b.balance ? 1 : -1))
  if (largest === undefined) return
  executeSellAll(core, largest.wallet, token)
  const waitMs = core.chance.between(core.state.streams.stories, 10_000, 180_000)
  if (left > 1) plan(core, { kind: 'crash', token, left: left - 1 }, waitMs)
}

/** A tracked wallet realizes a gain, then holds a falling token: unrealized < 0 < total (R27). Null if impossible. */
function makeBagHolder(core: Core, network: NetworkId): number | null {
  const [winner, loser] = establishedOf(core, network)
  if (winner === undefined || loser === undefined || !canMovePrice(core, loser, bagRise)) return null
  if (!canEarn(core, winner, 6000, 1500)) return null
  const wallet = openTracked(core, network, 'bag-holder')
  tradeAtOnce(core, () => {
    earn(core, wallet, winner, 6000, 1500)
    fund(core, wallet, coinsForUsd(core, network, 5000))
    atRaisedPrice(core, loser, bagRise, () => void executeBuyUsd(core, wallet, loser, 5000))
  })
  return wallet
}

function changeSomeOwner(core: Core): void {
  const { stories } = core.state.streams
  const network = pickNetwork(core)
  const owned = marketsOf(core, network).filter((token) => !isRenounced(tokenAt(core, token).owner))
  if (owned.length === 0) return
  const token = core.chance.pick(stories, owned)
  const isRenouncing = core.chance.uniform(stories) < 0.4
  transferOwner(core, token, isRenouncing ? null : addressFor(core, network, `owner:${token}:${core.state.seq}`))
}

function withdrawSomeLiquidity(core: Core): void {
  const token = pickEstablished(core)
  if (token === null || isShallow(core, token)) return
  const bpsTaken = core.chance.integer(core.state.streams.stories, 2000, 3500)
  removeLiquidity(core, token, bpsTaken)
  if (tokenAt(core, token).contract.isLiquidityLocked) changeContract(core, token, { isLiquidityLocked: false })
}

/** True for a pool too shallow for withdrawals: otherwise old pools would be dry after some months. */
function isShallow(core: Core, token: number): boolean {
  const { network, pool } = tokenAt(core, token)
  return usdOfCoins(core, network, pool?.coins ?? 0n) < 200_000_000_000n
}

function pickNetwork(core: Core): NetworkId {
  return core.chance.pick(core.state.streams.stories, networkIds)
}

/** A random established token; null if the picked network has none. */
function pickEstablished(core: Core): number | null {
  const tokens = establishedOf(core, pickNetwork(core))
  return tokens.length === 0 ? null : core.chance.pick(core.state.streams.stories, tokens)
}

/** Tokens of the initial world that still have a market. */
export function establishedOf(core: Core, network: NetworkId): readonly number[] {
  return marketsOf(core, network).filter((token) => {
    return tokenAt(core, token).isEstablished && !isHoneypot(tokenAt(core, token))
  })
}

/** Tracked wallets of a network. */
export function trackedOf(core: Core, network: NetworkId): readonly number[] {
  return core.state.wallets.flatMap((owner, wallet) => (owner.isTracked && owner.network === network ? [wallet] : []))
}

/** Starts a named story on a network where it is possible. Throws `WorldRefusal` if there is none. */
export function startStory(core: Core, story: StoryName): CommandResult {
  const pick = <T>(items: readonly T[]) => core.chance.pick(core.state.streams.acts, items)
  switch (story) {
    case 'scam': {
      const network = pick(networkIds)
      return { token: tokenAt(core, startScam(core, network)).address, network }
    }
    case 'launch':
      return { token: tokenAt(core, startLaunch(core)).address, network: 'solana' }
    case 'whale': {
      const network = pick(
        somewhere(
          networkIds.filter((one) => whaleOf(core, one) !== undefined),
          'a tracked whale',
        ),
      )
      const whale = whaleOf(core, network) ?? 0
      const usd = core.chance.between(core.state.streams.acts, 40_000, 200_000)
      return spend(core, whale, pick(establishedOf(core, network)), usd)
    }
    case 'crash': {
      const token = pick(
        somewhere(
          networkIds.flatMap((network) => establishedOf(core, network)),
          'a token to fall',
        ),
      )
      startCrash(core, token)
      return { token: tokenAt(core, token).address, network: tokenAt(core, token).network }
    }
    case 'bag-holder':
      return bagHolder(core, pick(networkIds))
  }
}

/** Uses the first possible network, starting at `network`. */
function bagHolder(core: Core, network: NetworkId): CommandResult {
  const first = networkIds.indexOf(network)
  for (const one of [...networkIds.slice(first), ...networkIds.slice(0, first)]) {
    const wallet = makeBagHolder(core, one)
    if (wallet !== null) return { wallet: walletAt(core, wallet).address, network: one }
  }
  throw new WorldRefusal('no network has two tokens with movable prices')
}

function whaleOf(core: Core, network: NetworkId): number | undefined {
  if (establishedOf(core, network).length === 0) return undefined
  return trackedOf(core, network).find((wallet) => walletAt(core, wallet).archetype === 'whale')
}

function somewhere<T>(places: readonly T[], what: string): readonly T[] {
  if (places.length > 0) return places
  throw new WorldRefusal(`no network has ${what} now`)
}

/** A wallet buys for `usd`. Missing funds are minted. */
export function spend(core: Core, wallet: number, token: number, usd: number): CommandResult {
  const { network, address } = walletAt(core, wallet)
  const coins = coinsForUsd(core, network, usd)
  fund(core, wallet, coins)
  executeBuy(core, wallet, token, coins)
  return { wallet: address, token: tokenAt(core, token).address, network }
}
