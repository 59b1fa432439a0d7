import type { Trade, Ref } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import { readAll } from './world.ts'

/** A position as derived from the list of trades only. Dollars. */
interface Position {
  amount: number
  cost: number
  partGain: number
  partCost: number
}

/** A closed position; in mode `disposals`, a sale. */
interface Closing {
  readonly at: number
  readonly gain: number
  readonly cost: number
}

/** Profit and loss by average cost with fees in it (A12), from trades, oldest first. */
function keepBooks(trades: readonly Trade[], mode: 'closed' | 'disposals' = 'closed') {
  const open = new Map<string, Position>()
  const closings: Closing[] = []
  /** Maximum difference of sums, since the list shows cents. */
  let tolerance = 0.01

  const buy = (address: string, amount: number, cost: number) => {
    const position = open.get(address) ?? { amount: 0, cost: 0, partGain: 0, partCost: 0 }
    open.set(address, { ...position, amount: position.amount + amount, cost: position.cost + cost })
  }
  const sell = (address: string, amount: number, proceeds: number, at: number) => {
    // Units without a purchase have no cost.
    const held = open.get(address) ?? { amount, cost: 0, partGain: 0, partCost: 0 }
    const isAll = amount >= held.amount * (1 - 1e-9)
    const cost = isAll ? held.cost : (held.cost * amount) / held.amount
    const gain = held.partGain + proceeds - cost
    const paid = held.partCost + cost
    const isCounted = isAll || mode === 'disposals'
    if (isCounted) closings.push({ at, gain, cost: paid })
    if (isAll) open.delete(address)
    else {
      const rest = { amount: held.amount - amount, cost: held.cost - cost }
      open.set(address, { ...rest, partGain: isCounted ? 0 : gain, partCost: isCounted ? 0 : paid })
    }
  }

  for (const { type, token_in, token_out, timestamp } of trades) {
    // The token sold in a swap brings its value, and the token bought costs the same.
    const proceeds = type === 'sell' ? token_out.value_usd : token_in.value_usd
    if (type !== 'buy') sell(token_in.address, token_in.amount, proceeds, Date.parse(timestamp))
    if (type !== 'sell') buy(token_out.address, token_out.amount, token_in.value_usd)
    tolerance += 0.01
  }
  return { closings, open, tolerance }
}

export function booksOf(world: World, ref: Ref, mode: 'closed' | 'disposals' = 'closed') {
  return keepBooks(readAll(world, (page) => world.views.trades(ref, page, null)).toReversed(), mode)
}
