import { networkIds, type NetworkId } from '../../../schema/index.ts'
import { planSniperPurchases } from './agents.ts'
import { isHoneypot, isRenounced } from './audit.ts'
import type { Stream } from '../random.ts'
import { abandon, makeHoneypot, removeLiquidity, transferOwner } from './contracts.ts'
import { coinsForUsd, holdersOf, holdingAt, plan, tokenAt, walletAt, type Core } from './core.ts'
import { canWithdraw } from './exchange.ts'
import { canEarn, canMovePrice, earn, movePrice, openTracked } from './interventions.ts'
import { freshName } from './names.ts'
import { honeypotTypes, WorldRefusal, type CommandResult, type StoryName } from './port.ts'
import { tradeAtOnce } from './rules.ts'
import { executeBuy, executeBuyUsd, executeSellAll } from './trading.ts'
import type { DailyStory } from './state.ts'
import { createCurveToken, createListedToken } from './token-creation.ts'
import { addressFor, fund } from './wallets.ts'
import { dayMs, minuteMs } from '../../base/clock.ts'

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
/** What a bag holder pays, as a multiple of the later price. */
const bagRise = 1.14
const [earnStakeUsd, earnGainUsd, bagUsd] = [6000, 1500, 5000]

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
  try {
    runStory(core, story, core.state.streams.stories)
  } catch (error) {
    if (!(error instanceof WorldRefusal)) throw error
  }
}

/** Starts a story. `stream` draws where. Throws `WorldRefusal` if it is impossible now. */
export function runStory(
  core: Core,
  story: DailyStory | StoryName,
  stream: Stream = core.state.streams.acts,
): CommandResult {
  return stories[story](core, stream)
}

const stories: Readonly<Record<DailyStory | StoryName, (core: Core, stream: Stream) => CommandResult>> = {
  /** A scam: listing → hidden owner → honeypot → liquidity removed. */
  scam(core, stream) {
    const { stories } = core.state.streams
    const token = createListedToken(core, {
      network: core.chance.pick(stream, networkIds),
      ...freshName(core.chance, core.state.streams.names),
      liquidityUsd: core.chance.between(stories, 15_000, 90_000),
      allocationPct: core.chance.integer(stories, 0, 20),
      isAnnounced: true,
      contract: { isMintable: core.chance.uniform(stories) < 0.5 },
    })
    planSniperPurchases(core, token)
    plan(core, { kind: 'scam', token, step: 1 }, core.chance.between(stories, 10, 40) * minuteMs)
    return about(core, token)
  },
  /** A regular listing: a pool, snipers, then a market. */
  listing: (core, stream) => about(core, list(core, stream)),
  /** Launches a token on its bonding curve; more than half of them graduate. */
  launch(core) {
    const { stories, names } = core.state.streams
    const { symbol, name } = freshName(core.chance, names)
    const token = createCurveToken(core, symbol, name)
    planSniperPurchases(core, token)
    const graduates = core.chance.uniform(stories) < graduatingShare
    const left = graduates ? 1000 : core.chance.integer(stories, 3, 14)
    plan(core, { kind: 'launch', token, left }, core.chance.between(stories, 5000, 30_000))
    return about(core, token)
  },
  /** The owner of a contract hands it over. */
  ownership(core, stream) {
    const owned = networkIds
      .flatMap((network) => core.directory.markets[network])
      .filter((token) => !isRenounced(tokenAt(core, token).owner))
    const token = pickFrom(core, owned, 'no token has an owner; list a new one', stream)
    transferOwner(core, token, addressFor(core, tokenAt(core, token).network, `owner:${token}:${core.state.seq}`))
    return about(core, token)
  },
  /** The creator of a young token removes a part of its liquidity. */
  withdrawal(core, stream) {
    const token = pickYoungToken(core, stream)
    removeLiquidity(core, token, core.chance.integer(stream, 2500, 9000))
    return about(core, token)
  },
  /** A crash: the largest holders sell one after the other, and the fair price falls. */
  crash(core, stream) {
    const token = pickFrom(core, allEstablished(core), 'no network has a token to fall now', stream)
    const crashed = tokenAt(core, token)
    crashed.fair = (crashed.fair * 7n) / 10n
    plan(core, { kind: 'crash', token, left: core.chance.integer(core.state.streams.stories, 4, 9) }, 1000)
    return about(core, token)
  },
  /** A tracked whale makes a large purchase. */
  whale(core, stream) {
    const possible = networkIds.flatMap((network) => {
      const whale = trackedOf(core, network).find((wallet) => walletAt(core, wallet).archetype === 'whale')
      const tokens = establishedOf(core, network)
      return whale === undefined || tokens.length === 0 ? [] : [{ whale, tokens }]
    })
    const { whale, tokens } = pickFrom(core, possible, 'no network has a tracked whale now', stream)
    return spend(core, whale, core.chance.pick(stream, tokens), core.chance.between(stream, 40_000, 200_000))
  },
  /** A tracked wallet realizes a gain, then holds a falling token: unrealized < 0 < total (R27). */
  'bag-holder'(core, stream) {
    const possible = networkIds.flatMap((network) => {
      const [winner, loser] = establishedOf(core, network)
      if (winner === undefined || loser === undefined || !canMovePrice(core, loser, 1 / bagRise)) return []
      return canEarn(core, winner, earnStakeUsd, earnGainUsd) ? [{ network, winner, loser }] : []
    })
    const message = 'no network has two tokens with movable prices'
    const { network, winner, loser } = pickFrom(core, possible, message, stream)
    const wallet = openTracked(core, network, 'bag-holder')
    tradeAtOnce(core, () => {
      earn(core, wallet, winner, earnStakeUsd, earnGainUsd)
      fund(core, wallet, coinsForUsd(core, network, bagUsd))
      executeBuyUsd(core, wallet, loser, bagUsd)
    })
    movePrice(core, loser, 1 / bagRise)
    return { wallet: walletAt(core, wallet).address, network }
  },
}

/** Picks one of the possibilities. Throws `WorldRefusal` if there is none. */
export function pickFrom<T>(core: Core, items: readonly T[], refusal: string, stream = core.state.streams.acts): T {
  if (items.length === 0) throw new WorldRefusal(refusal)
  return core.chance.pick(stream, items)
}

/** Result of a command about a token. */
export function about(core: Core, token: number): CommandResult {
  const { address, network } = tokenAt(core, token)
  return { token: address, network }
}

function list(core: Core, stream: Stream): number {
  const { stories, names } = core.state.streams
  const token = createListedToken(core, {
    network: core.chance.pick(stream, networkIds),
    ...freshName(core.chance, names),
    liquidityUsd: core.chance.between(stories, 12_000, 250_000),
    allocationPct: core.chance.integer(stories, 0, 30),
    isAnnounced: true,
    isOwnerRenounced: core.chance.uniform(stories) < 0.4,
    contract: { isLiquidityLocked: core.chance.uniform(stories) < 0.6, isProxy: core.chance.uniform(stories) < 0.2 },
  })
  planSniperPurchases(core, token)
  return token
}

/** A sellable token that is not from the initial world; lists a new one if there is none. */
export function pickYoungToken(core: Core, stream = core.state.streams.acts): number {
  const young = networkIds.flatMap((network) =>
    core.directory.markets[network].filter((token) => {
      const { isEstablished, contract, pool } = tokenAt(core, token)
      if (isEstablished || contract.wasLiquidityRemoved || isHoneypot(tokenAt(core, token))) return false
      return pool !== null && canWithdraw(pool, 9000)
    }),
  )
  return young.length > 0 ? core.chance.pick(stream, young) : list(core, stream)
}

export function continueScam(core: Core, token: number, step: number): void {
  const { stories } = core.state.streams
  const { network } = tokenAt(core, token)
  const drawMs = (low: number, high: number) => core.chance.between(stories, low, high) * minuteMs
  if (step === 1) {
    transferOwner(core, token, addressFor(core, network, `scammer:${token}`))
    plan(core, { kind: 'scam', token, step: 2 }, drawMs(15, 60))
  } else if (step === 2) {
    makeHoneypot(core, token, core.chance.pick(stories, honeypotTypes))
    planSniperPurchases(core, token)
    plan(core, { kind: 'scam', token, step: 3 }, drawMs(20, 90))
  } else {
    removeLiquidity(core, token, core.chance.integer(stories, 8500, 9900))
    abandon(core, token)
  }
}

/** A random wallet buys on the curve. */
export function continueLaunch(core: Core, token: number, left: number): void {
  const { stories } = core.state.streams
  if (tokenAt(core, token).curve === null) {
    planSniperPurchases(core, token)
    return
  }
  const wallet = buyOnCurve(core, token, stories, 0.6, 4.5)
  if (wallet !== null && core.chance.uniform(stories) < 0.7) {
    plan(core, { kind: 'sell', wallet, token }, core.chance.between(stories, 60, 300) * minuteMs)
  }
  if (left > 1) plan(core, { kind: 'launch', token, left: left - 1 }, core.chance.between(stories, 15_000, 95_000))
}

/** A random wallet buys on a bonding curve for `low` to `high` SOL. Returns the wallet; null if it bought nothing. */
export function buyOnCurve(core: Core, token: number, stream: Stream, low: number, high: number): number | null {
  const crowd = core.state.wallets.flatMap(({ network, archetype }, wallet) =>
    network === 'solana' && archetype !== null && archetype !== 'bot' && archetype !== 'whale' ? [wallet] : [],
  )
  const wallet = core.chance.pick(stream, crowd)
  const coins = BigInt(Math.round(core.chance.between(stream, low, high) * 1e9))
  fund(core, wallet, coins)
  return executeBuy(core, wallet, token, coins) === null ? null : wallet
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

/** Tokens of the initial world that still have a market. */
export function establishedOf(core: Core, network: NetworkId): readonly number[] {
  return core.directory.markets[network].filter((token) => {
    return tokenAt(core, token).isEstablished && !isHoneypot(tokenAt(core, token))
  })
}

export function allEstablished(core: Core): readonly number[] {
  return networkIds.flatMap((network) => establishedOf(core, network))
}

/** Tracked wallets of a network. */
export function trackedOf(core: Core, network: NetworkId): readonly number[] {
  return core.state.wallets.flatMap((owner, wallet) => (owner.isTracked && owner.network === network ? [wallet] : []))
}

/** A wallet buys for `usd`. Missing funds are minted. */
export function spend(core: Core, wallet: number, token: number, usd: number): CommandResult {
  const { network, address } = walletAt(core, wallet)
  const coins = coinsForUsd(core, network, usd)
  fund(core, wallet, coins)
  executeBuy(core, wallet, token, coins)
  return { wallet: address, token: tokenAt(core, token).address, network }
}
