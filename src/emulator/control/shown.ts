import type { Account, Accounts } from '../accounts/port.ts'
import type { Keeper } from '../keeper.ts'
import type { TokenRef, World, WorldViews } from '../world/port.ts'
import { ControlError } from './answers.ts'

// What several routes show, or look for.

/** A moment as it is shown. */
export function toTime(at: number): string {
  return new Date(at).toISOString()
}

export function toClock({ clock }: Pick<Keeper, 'clock'>) {
  const { mode, speed, now } = clock.state()
  return { mode, speed, now: toTime(now) }
}

export type ShownClock = ReturnType<typeof toClock>
export type ShownToken = ReturnType<typeof toTokenRow>

/** A token in a list; `seq` is its number among all. */
export function toTokenRow(views: WorldViews, ref: TokenRef) {
  const { address, symbol, name, price_usd } = views.token(ref)
  return { seq: ref.index + 1, network: ref.network, address, symbol, name, price_usd }
}

/** The world as of now. */
export function present({ world, clock }: Pick<Keeper, 'world' | 'clock'>): World {
  world.advanceTo(clock.now())
  return world
}

/** The account of an id or a name, or the first. Throws 404. */
export function findAccount(accounts: Accounts, wanted: string | undefined): Account {
  const all = accounts.accounts()
  const found =
    wanted === undefined ? all[0] : all.find(({ accountId, name }) => accountId === wanted || name === wanted)
  if (found !== undefined) return found
  const message =
    wanted === undefined
      ? 'there is no account; POST /_emulator/accounts makes one'
      : `there is no account ${wanted}; GET /_emulator/accounts lists them`
  throw new ControlError(404, 'not_found', message)
}
