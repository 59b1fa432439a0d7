import fc from 'fast-check'
import { eventTypes, networkIds, type NetworkId } from '../../schema/index.ts'
import { toWalletAddress } from '../../src/emulator/world/addresses.ts'
import { alertTypes } from '../../schema/rest/alert.ts'
import { networkStatuses } from '../../schema/rest/network.ts'
import { honeypotTypes, storyNames, type World, type WorldCommand } from '../../src/emulator/world/port.ts'
import { asOfNow } from './world.ts'

/** An act that is made for the world that it meets. */
export type ToAct = (world: World) => WorldCommand

export interface PlannedAct {
  /** How long after the one before. */
  readonly waitMs: number
  readonly toAct: ToAct
}

const network = fc.constantFrom(...networkIds)
/** Which of those that there are, as a share of their number. */
const part = fc.nat(999).map((thousandths) => thousandths / 1000)
const usd = fc.integer({ min: 1, max: 60_000 })

/** Somebody who is there, or in a few cases somebody who is not. */
function walletOf(world: World, on: NetworkId, chance: number): string {
  const known = world.views.wallets().filter((wallet) => wallet.network === on)
  const place = Math.floor(chance * (known.length + 3))
  return known[place]?.address ?? toWalletAddress(on, new Uint8Array(32).fill(place))
}

/** A token that is there, or in a few cases one that is not. */
function tokenOf(world: World, on: NetworkId, chance: number): string {
  const known = world.views.tokens().filter((token) => token.network === on)
  const place = Math.floor(chance * (known.length + 0.2))
  return known[place]?.address ?? toWalletAddress(on, new Uint8Array(32).fill(99))
}

/** A wallet with something that it holds, if anybody holds anything. */
function heldBy(world: World, on: NetworkId, who: number, what: number): { wallet: string; token: string } {
  const page = { limit: 100, after: null, asOf: asOfNow(world) }
  const holders = world.views.wallets().flatMap((wallet) => {
    if (wallet.network !== on || wallet.tradeCount === 0) return []
    const { items } = world.views.portfolio(wallet, page)
    return items.length > 0 ? [{ wallet: wallet.address, items }] : []
  })
  const holder = holders[Math.floor(who * holders.length)]
  const item = holder?.items[Math.floor(what * holder.items.length)]
  return {
    wallet: holder?.wallet ?? walletOf(world, on, who),
    token: item?.token_address ?? tokenOf(world, on, what),
  }
}

const purchase = fc
  .record({ network, wallet: part, token: part, usd })
  .map(({ network, wallet, token, usd }): ToAct => (world) => {
    const who = { wallet: walletOf(world, network, wallet), token: tokenOf(world, network, token) }
    return { kind: 'trade', side: 'buy', network, usd, ...who }
  })
const sale = fc
  .record({ network, who: part, what: part, amount: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 99 }), usd) })
  .map(({ network, who, what, amount }): ToAct => (world) => {
    const much = amount > 99 ? { usd: amount } : { fraction: amount === 1 ? 1 : amount / 100 }
    return { kind: 'trade', side: 'sell', network, ...much, ...heldBy(world, network, who, what) }
  })
const swap = fc
  .record({ network, who: part, what: part, to: part })
  .map(({ network, who, what, to }): ToAct => (world) => {
    const { wallet, token } = heldBy(world, network, who, what)
    return { kind: 'swap', network, wallet, from: token, to: tokenOf(world, network, to) }
  })
const list = fc.record({ network, liquidityUsd: fc.integer({ min: 1, max: 500_000 }) }).map((given): ToAct => () => ({
  kind: 'list',
  symbol: 'NEW',
  name: 'New',
  ...given,
}))
const rug = fc
  .record({ network, token: part, percent: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant(99.99)) })
  .map(({ network, token, percent }): ToAct => (world) => {
    return { kind: 'rug', network, token: tokenOf(world, network, token), percent }
  })
const priceMove = fc
  .record({ network, token: part, percent: fc.oneof(fc.integer({ min: -99, max: 300 }), fc.constant(99_000)) })
  .chain((given) => fc.boolean().map((isTold) => ({ ...given, isTold })))
  .map(({ network, token, percent, isTold }): ToAct => (world) => {
    const address = tokenOf(world, network, token)
    const known = world.views.findToken(network, address)
    const price = known === null ? 1 : world.views.token(known).price_usd
    const much = isTold ? { priceUsd: price * (1 + percent / 100) } : { percent }
    return { kind: 'price-move', network, token: address, ...much }
  })
const transfer = fc
  .record({ network, token: part, to: fc.option(part) })
  .map(({ network, token, to }): ToAct => (world) => {
    const address = to === null ? null : walletOf(world, network, to)
    return { kind: 'transfer-owner', network, token: tokenOf(world, network, token), to: address }
  })
const honeypot = fc
  .record({ network, token: part, honeypot: fc.constantFrom(...honeypotTypes) })
  .map(({ network, token, honeypot }): ToAct => (world) => {
    return { kind: 'honeypot', network, token: tokenOf(world, network, token), honeypot }
  })
const graduate = fc.option(part).map((token): ToAct => (world) => {
  const onCurve = world.views
    .tokens()
    .filter(({ network, address }) => network === 'solana' && address.endsWith('pump'))
  const known = token === null ? undefined : onCurve[Math.floor(token * onCurve.length)]
  return { kind: 'graduate', ...(known !== undefined && { token: known.address }) }
})
const alertId = fc.nat(8).map((id) => `alrt_${id}`)
const addAlert = fc
  .record({
    network,
    place: part,
    isWallet: fc.boolean(),
    alertId,
    type: fc.constantFrom(...alertTypes),
    percent: fc.integer({ min: -9, max: 9 }),
    usd,
    isOneShot: fc.boolean(),
  })
  .map(({ network, place, isWallet, percent, usd, ...given }): ToAct => (world) => {
    const { type } = given
    const isOnTrades = type === 'whale_buy' || type === 'whale_sell'
    const address = isWallet && isOnTrades ? walletOf(world, network, place) : tokenOf(world, network, place)
    const known = world.views.findToken(network, address)
    const price = (known === null ? 1 : world.views.token(known).price_usd) * (1 + percent / 100)
    const threshold = isOnTrades ? usd : type === 'volume_spike' ? usd / 100 : price
    return { kind: 'add-alert', network, address, threshold, ...given }
  })
const thresholds = fc
  .record(
    {
      largeTradeUsd: usd,
      milestonesUsd: fc.array(usd, { maxLength: 4 }),
      riskSensitivity: fc.integer({ min: 0, max: 60 }),
    },
    { requiredKeys: [] },
  )
  .map((given): ToAct => () => ({ kind: 'thresholds', ...given }))
const track = fc
  .record({ network, wallet: part, isTracked: fc.boolean() })
  .map(({ network, wallet, isTracked }): ToAct => (world) => {
    return { kind: 'track', network, wallet: walletOf(world, network, wallet), isTracked }
  })
const activity = fc.constantFrom(0, 0.05, 0.2, 1, 2).map((factor): ToAct => () => ({ kind: 'activity', factor }))
const status = fc.record({ network, status: fc.constantFrom(...networkStatuses) }).map((given): ToAct => () => ({
  kind: 'network-status',
  ...given,
}))
const removeAlert = alertId.map((alertId): ToAct => () => ({ kind: 'remove-alert', alertId }))
const trigger = fc.constantFrom(...eventTypes).map((type): ToAct => () => ({ kind: 'trigger', type }))
const story = fc.constantFrom(...storyNames).map((name): ToAct => () => ({ kind: 'story', story: name }))

const sensible = fc.oneof(
  { weight: 5, arbitrary: purchase },
  { weight: 5, arbitrary: sale },
  { weight: 3, arbitrary: swap },
  { weight: 1, arbitrary: list },
  { weight: 4, arbitrary: rug },
  { weight: 6, arbitrary: priceMove },
  { weight: 1, arbitrary: transfer },
  { weight: 1, arbitrary: honeypot },
  { weight: 1, arbitrary: graduate },
  { weight: 4, arbitrary: addAlert },
  { weight: 1, arbitrary: removeAlert },
  { weight: 1, arbitrary: thresholds },
  { weight: 1, arbitrary: track },
  { weight: 1, arbitrary: activity },
  { weight: 1, arbitrary: status },
  { weight: 5, arbitrary: trigger },
  { weight: 3, arbitrary: story },
)

const oddNumber = fc.constantFrom(0, -1, 100, 1e-9, 1e-300, 1e15, 1e300, Number.NaN, Infinity, -Infinity)

/** The same act with one of its numbers, if it has any, as nobody should send it. */
function spoil(act: WorldCommand, chance: number, odd: number): WorldCommand {
  const numbers = Object.entries(act).filter(([, value]) => typeof value === 'number')
  const chosen = numbers[Math.floor(chance * numbers.length)]
  // How busy everybody is stays within what can be simulated here.
  const value = act.kind === 'activity' && odd > 100 ? -odd : odd
  return chosen === undefined ? act : { ...act, [chosen[0]]: value }
}

const anyAct = fc.oneof(
  { weight: 6, arbitrary: sensible },
  {
    weight: 1,
    arbitrary: fc.record({ toAct: sensible, chance: part, odd: oddNumber }).map(
      ({ toAct, chance, odd }): ToAct =>
        (world) =>
          spoil(toAct(world), chance, odd),
    ),
  },
)

const wait = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 60_000, max: 3_600_000 }))

/** So many acts at most, at random moments. */
export function plannedActs(maxLength: number): fc.Arbitrary<readonly PlannedAct[]> {
  return fc.array(fc.record({ waitMs: wait, toAct: anyAct }), { minLength: 1, maxLength, size: 'max' })
}
