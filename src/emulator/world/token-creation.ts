import type { NetworkId } from '../../../schema/index.ts'
import { toAddress, toPumpMint } from './addresses.ts'
import { nobody } from './contracts.ts'
import {
  type Core,
  coinsForUsd,
  emit,
  newStream,
  plan,
  tokenAt,
  usdOfCoins,
  walletAt,
  numberChange,
  placeOf,
} from './core.ts'
import {
  createCurve,
  curveDecimals,
  curveSupply,
  markToMarket,
  migrationFee,
  migrationTokens,
  poolRatio,
} from './exchange.ts'
import { migrationDex, networkFacts } from './networks.ts'
import { pow10, toSignificant, toUsd } from './numbers.ts'
import { addressFor, fund, openWallet, transfer } from './wallets.ts'
import { checkPriceAlerts } from './alerts.ts'
import { auditOf } from './rules.ts'
import type { ContractState, TokenState } from './state.ts'

const meanLifeMs = 9 * 3_600_000

const minLifeMs = 3 * 3_600_000

export interface NewToken {
  readonly network: NetworkId
  readonly symbol: string
  readonly name: string
  readonly liquidityUsd: number
  /** The creator's allocation, in percent of the supply. The rest goes into the pool. */
  readonly allocationPct: number
  readonly contract?: Partial<ContractState>
  readonly isOwnerRenounced?: boolean
  /** True if a listing event follows (A66); false for tokens of the initial world. */
  readonly isAnnounced: boolean
}

/** Creates a token with a pool. Returns its index. */
export function createListedToken(core: Core, wanted: NewToken): number {
  const { network } = wanted
  const { dexes } = networkFacts[network]
  const number = core.state.tokens.length
  const stream = newStream(`token:${number}:${network}:${wanted.symbol}`)
  const creator = openCreator(core, network)
  const deployer = walletAt(core, creator)
  const address = toAddress(network, core.chance.bytes(`mint:${number}`))
  const decimals = network === 'solana' ? core.chance.pick(stream, [6, 9]) : core.chance.pick(stream, [18, 18, 9])
  const supply = BigInt(core.chance.pick(stream, [1e6, 1e8, 1e9])) * pow10(decimals)
  const allocation = (supply * BigInt(Math.round(wanted.allocationPct * 100))) / 10_000n
  const coins = coinsForUsd(core, network, wanted.liquidityUsd / 2)
  fund(core, creator, coins)
  deployer.coins -= coins
  const dex = core.chance.pick(stream, dexes)
  const pool = {
    coins,
    tokens: supply - allocation,
    address: addressFor(core, network, `pool:${address}`),
    dex: dex.name,
  }
  const token: TokenState = {
    network,
    address,
    symbol: wanted.symbol,
    name: wanted.name,
    decimals,
    supply,
    createdAt: core.state.now,
    createdSeq: core.state.seq + 1,
    creator,
    owner: wanted.isOwnerRenounced === true ? nobody(network) : deployer.address,
    pool: { ...pool, feeBps: dex.feeBps },
    curve: null,
    ...unaudited(stream),
    isEstablished: !wanted.isAnnounced,
    contract: { ...plainContract, ...wanted.contract },
  }
  const index = addToken(core, token)
  const seq = numberChange(core)
  transfer(core, creator, index, allocation, seq)
  openMarket(core, index, seq, wanted.isAnnounced)
  return index
}

/** Creates a token on the bonding curve of the launch platform (Solana). Returns its index. */
export function createCurveToken(core: Core, symbol: string, name: string): number {
  const number = core.state.tokens.length
  const token: TokenState = {
    network: 'solana',
    address: toPumpMint(core.chance.bytes(`mint:${number}`)),
    symbol,
    name,
    decimals: curveDecimals,
    supply: curveSupply,
    createdAt: core.state.now,
    createdSeq: core.state.seq + 1,
    creator: openCreator(core, 'solana'),
    owner: nobody('solana'),
    pool: null,
    curve: createCurve(),
    ...unaudited(newStream(`token:${number}:solana:${symbol}`)),
    contract: { ...plainContract, isLiquidityLocked: true },
  }
  const index = addToken(core, token)
  numberChange(core)
  markToMarket(token)
  auditFirst(core, index)
  return index
}

/** Migrates a token with a completed curve to a pool (R102, A67, A68). */
export function graduate(core: Core, token: number): void {
  const graduated = tokenAt(core, token)
  const { curve, address, symbol, name, network } = graduated
  if (curve === null || curve.realTokens > 0n) throw new RangeError(`${symbol}: its curve is not completed`)
  const { name: dex, feeBps } = migrationDex
  core.state.networks[network].elsewhere += migrationFee
  graduated.pool = {
    coins: curve.realCoins - migrationFee,
    tokens: migrationTokens,
    address: addressFor(core, network, `pool:${address}`),
    dex,
    feeBps,
  }
  graduated.curve = null
  const seq = numberChange(core)
  const data = {
    token_address: address,
    symbol,
    name,
    bonding_curve_completed: true,
    sol_raised: toSignificant(curve.realCoins, -9, 15),
    raydium_pool: graduated.pool.address,
    migration_tx: core.txHash(network, seq),
  }
  emit(core, 'pump.graduation', data, seq)
  openMarket(core, token, seq, core.options.graduationAlsoLists)
}

function openMarket(core: Core, token: number, seq: number, isAnnounced: boolean): void {
  const listed = tokenAt(core, token)
  markToMarket(listed)
  listed.opening = { seq, mark: listed.mark }
  listed.fair = poolRatio(listed)
  auditFirst(core, token)
  core.state.openedMarkets.push(token)
  core.directory.markets[listed.network].push(token)
  checkPriceAlerts(core, token, seq)
  plan(core, { kind: 'market', token }, core.chance.between(listed.stream, 20_000, 80_000))
  plan(core, { kind: 'audit', token }, core.chance.between(listed.stream, 300_000, 3_600_000))
  if (!listed.isEstablished) {
    plan(core, { kind: 'retire', token }, core.chance.exponential(listed.stream) * meanLifeMs + minLifeMs)
  }
  if (!isAnnounced) return
  const liquidity = 2n * usdOfCoins(core, listed.network, listed.pool?.coins ?? 0n)
  // Within seconds of its creation, at any activity.
  const waitMs = core.chance.integer(listed.stream, 1000, 5000)
  plan(core, { kind: 'announce', token, seq, liquidityMicro: liquidity }, waitMs, false)
}

/** First audit: the baseline of later ones. */
function auditFirst(core: Core, token: number): void {
  const { score, checks } = auditOf(core, token)
  tokenAt(core, token).risk = { score, checks, toldScore: score, toldChecks: checks }
}

/** Emits the listing of a new token (R94). */
export function announce(core: Core, token: number, seq: number, liquidityMicro: bigint): void {
  const { address, network, symbol, name, pool } = tokenAt(core, token)
  if (pool === null) return
  const data = {
    token_address: address,
    network,
    symbol,
    name,
    dex: pool.dex,
    pool_address: pool.address,
    initial_liquidity_usd: toUsd(liquidityMicro),
    listing_tx: core.txHash(network, seq),
  }
  emit(core, 'token.new_listing', data, seq)
}

const plainContract: ContractState = {
  isMintable: false,
  isProxy: false,
  hasHiddenOwner: false,
  hasBlacklist: false,
  isPausable: false,
  sellTaxBps: 0,
  honeypot: null,
  isLiquidityLocked: false,
  wasLiquidityRemoved: false,
}

function unaudited(stream: TokenState['stream']) {
  return {
    mark: { mantissa: 0, exponent: 0 },
    opening: null,
    fair: 0n,
    volume: 0n,
    stream,
    risk: { score: 0, checks: [], toldScore: 0, toldChecks: [] },
    isEstablished: false,
    isAbandoned: false,
  }
}

function addToken(core: Core, token: TokenState): number {
  const index = core.state.tokens.push(token) - 1
  core.directory.tokens.set(placeOf(token.network, token.address), index)
  return index
}

/** Creator wallet of the next token. */
function openCreator(core: Core, network: NetworkId): number {
  return openWallet(core, network, addressFor(core, network, `creator:${core.state.tokens.length}`))
}
