import fc from 'fast-check'
import { eventTypes, networkIds, type NetworkId } from '../../schema/index.ts'
import { alertTypes } from '../../schema/rest/alert.ts'
import { networkStatuses } from '../../schema/rest/network.ts'
import { toAddress } from '../../src/emulator/world/addresses.ts'
import { honeypotTypes, storyNames, type WorldCommand } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import { asOfNow } from './world.ts'

export interface PlannedCommand {
  /** Wait before the command. */
  readonly waitMs: number
  /** Returns a command that fits the world. */
  readonly toCommand: (world: World) => WorldCommand
}

const kinds = [
  ...['buy', 'sell', 'rug', 'price-move', 'trigger'].flatMap((kind) => [kind, kind, kind, kind]),
  ...['swap', 'story', 'add-alert'].flatMap((kind) => [kind, kind]),
  'list',
  'transfer-owner',
  'honeypot',
  'graduate',
  'remove-alert',
  'thresholds',
  'track',
  'activity',
  'status',
]

const dice = fc.record({
  kind: fc.constantFrom(...kinds),
  network: fc.constantFrom(...networkIds),
  /** Choices among what exists, from 0 up to 1. */
  one: fc.nat(999).map((thousandths) => thousandths / 1000),
  other: fc.nat(999).map((thousandths) => thousandths / 1000),
  usd: fc.integer({ min: 1, max: 60_000 }),
  percent: fc.oneof(fc.integer({ min: -99, max: 300 }), fc.constantFrom(99.99, 99_000)),
  isFlag: fc.boolean(),
  id: fc.nat(8),
  /** Replaces one number of the command. */
  odd: fc.option(fc.constantFrom(0, -1, 100, 1e-300, 1e300, Number.NaN, Infinity), { freq: 6 }),
})
type Dice = typeof dice extends fc.Arbitrary<infer T> ? T : never

function pick<T>(items: readonly T[], chance: number): T {
  return items[Math.floor(chance * items.length)]!
}

/** A wallet of the network; sometimes an unknown one. */
function walletOf(world: World, on: NetworkId, chance: number): string {
  const known = world.views.wallets().filter(({ network }) => network === on)
  const place = Math.floor(chance * (known.length + 3))
  return known[place]?.address ?? toAddress(on, new Uint8Array(32).fill(place))
}

/** A token of the network; rarely an unknown one. */
function tokenOf(world: World, on: NetworkId, chance: number): string {
  const known = world.views.tokens().filter(({ network }) => network === on)
  return known[Math.floor(chance * (known.length + 0.2))]?.address ?? toAddress(on, new Uint8Array(32).fill(99))
}

/** A wallet with a token that it holds, if any wallet holds one. */
function holdingOf(world: World, { network: on, one, other }: Dice): { wallet: string; token: string } {
  const page = { limit: 100, after: null, asOf: asOfNow(world) }
  const holders = world.views.wallets().flatMap((wallet) => {
    if (wallet.network !== on || wallet.tradeCount === 0) return []
    return world.views
      .portfolio(wallet, page)
      .items.map((item) => ({ wallet: wallet.address, token: item.token_address }))
  })
  return pick(holders, one) ?? { wallet: walletOf(world, on, one), token: tokenOf(world, on, other) }
}

function toCommand(world: World, given: Dice): WorldCommand {
  const { kind, network, one, other, usd, percent, isFlag, id } = given
  const token = tokenOf(world, network, one)
  const wallet = walletOf(world, network, other)
  const ref = world.views.findToken(network, token)
  const priceUsd = (ref === null ? 1 : world.views.token(ref).price_usd) * (1 + percent / 100)
  switch (kind) {
    case 'buy':
      return { kind: 'trade', side: 'buy', network, wallet, token, usd }
    case 'sell': {
      const amount = isFlag ? { usd } : other < 0.5 ? {} : { fraction: other }
      return { kind: 'trade', side: 'sell', network, ...holdingOf(world, given), ...amount }
    }
    case 'swap': {
      const held = holdingOf(world, given)
      return { kind, network, wallet: held.wallet, from: held.token, to: tokenOf(world, network, other) }
    }
    case 'list':
      return { kind, network, symbol: 'NEW', name: 'New', liquidityUsd: usd }
    case 'rug':
      return { kind, network, token, percent: Math.abs(percent) % 100 }
    case 'price-move':
      return isFlag ? { kind, network, token, priceUsd } : { kind, network, token, percent }
    case 'transfer-owner':
      return { kind, network, token, to: isFlag ? null : wallet }
    case 'honeypot':
      return { kind, network, token, honeypot: pick(honeypotTypes, other) }
    case 'graduate': {
      const onCurve = world.views.tokens().filter(({ address }) => address.endsWith('pump'))
      return { kind, ...(isFlag && onCurve.length > 0 && { token: pick(onCurve, one).address }) }
    }
    case 'add-alert': {
      const type = pick(alertTypes, other)
      const threshold = type.startsWith('price') ? priceUsd : usd
      const address = type.startsWith('whale') && isFlag ? wallet : token
      return { kind, alertId: `alrt_${id}`, type, network, address, threshold, isOneShot: isFlag }
    }
    case 'remove-alert':
      return { kind, alertId: `alrt_${id}` }
    case 'thresholds':
      return { kind, largeTradeUsd: usd, milestonesUsd: [usd, usd / 7], riskSensitivity: other * 60 }
    case 'track':
      return { kind, network, wallet, isTracked: isFlag }
    case 'activity':
      return { kind, factor: pick([0, 0.05, 0.2, 1, 2], other) }
    case 'status':
      return { kind: 'network-status', network, status: pick(networkStatuses, other) }
    case 'story':
      return { kind, story: pick(storyNames, other) }
    default:
      return { kind: 'trigger', type: pick(eventTypes, other) }
  }
}

/** Replaces a number of the command. Activity stays within what a test can simulate. */
function spoil(command: WorldCommand, { odd, one }: Dice): WorldCommand {
  const numbers = Object.entries(command).filter(([, value]) => typeof value === 'number')
  if (odd === null || numbers.length === 0) return command
  const value = command.kind === 'activity' && odd > 2 ? -odd : odd
  return { ...command, [pick(numbers, one)[0]]: value }
}

const wait = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 60_000, max: 3_600_000 }))

/** Up to `maxLength` commands at random moments. */
export function plannedCommands(maxLength: number): fc.Arbitrary<readonly PlannedCommand[]> {
  const planned = fc.record({ waitMs: wait, given: dice }).map(({ waitMs, given }): PlannedCommand => {
    return { waitMs, toCommand: (world) => spoil(toCommand(world, given), given) }
  })
  return fc.array(planned, { minLength: 1, maxLength, size: 'max' })
}
