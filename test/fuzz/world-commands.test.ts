import fc from 'fast-check'
import { deserialize, serialize as toBytes } from 'node:v8'
import { expect, it } from 'vitest'
import { serialize } from '../../src/emulator/serialize.ts'
import { WorldRefusal, type WorldCommand, type WorldSnapshot } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import { plannedCommands } from '../support/world-commands.ts'
import { worldCounts } from '../counts.ts'
import { ledgerProblems } from '../support/world-ledger.ts'
import { activeWallets, asOfNow, hourMs, openWorld, readLedger } from '../support/world.ts'

const { commandRuns, commandsPerRun } = worldCounts
const seed = fc.stringMatching(/^[a-z]{1,4}$/)

/** Applies a command. A refused one must change nothing. */
function attempt(world: World, command: WorldCommand): void {
  const before = { digest: world.digest(), seq: world.seq(), now: world.now() }
  const events = world.eventsAfter(0, Infinity).length
  try {
    world.commands.apply(command)
  } catch (error) {
    if (!(error instanceof WorldRefusal)) throw new Error(`${inspect(command)} failed`, { cause: error })
    const after = { digest: world.digest(), seq: world.seq(), now: world.now() }
    expect(after, `${inspect(command)} was refused (${error.message}) but changed the world`).toEqual(before)
    expect(world.eventsAfter(0, Infinity)).toHaveLength(events)
    expect(error.message.length).toBeGreaterThan(10)
  }
}

function inspect(command: WorldCommand): string {
  return JSON.stringify(command, (_name, value: unknown) => (typeof value === 'number' ? String(value) : value))
}

/** Products of pools, with the number of reported removals of liquidity. */
function productsOf(world: World): ReadonlyMap<string, { readonly product: bigint; readonly removals: number }> {
  const { state } = readLedger(world)
  const drained = world.eventsAfter(0, Infinity).flatMap(({ event }) => {
    return event.type === 'contract.liquidity_removed' ? [event.data.contract_address] : []
  })
  return new Map(
    state.tokens.flatMap(({ network, address, pool }) => {
      if (pool === null) return []
      const removals = drained.filter((contract) => contract === address).length
      return [[`${network}:${address}`, { product: pool.coins * pool.tokens, removals }] as const]
    }),
  )
}

type Products = ReturnType<typeof productsOf>

/** A small removal by a command isn't reported. */
function expectNoProductFell(before: Products, after: Products, command?: WorldCommand): void {
  for (const [place, { product, removals }] of before) {
    const then = after.get(place)
    expect(then, place).toBeDefined()
    const isDrained = command?.kind === 'rug' && place === `${command.network}:${command.token}`
    if (then?.removals === removals && !isDrained) expect(then.product >= product, place).toBe(true)
  }
}

/** All data of the views and events. */
function answersOf(world: World) {
  const { views } = world
  const page = { limit: 100, after: null, asOf: asOfNow(world) }
  const ofWallets = activeWallets(world).flatMap((wallet) => [
    views.overview(wallet),
    views.pnl(wallet, '24h').pnl,
    ...views.portfolio(wallet, page).items,
    ...views.trades(wallet, page, null).items,
  ])
  return [
    ...views.tokens().map((token) => views.token(token)),
    ...ofWallets,
    ...world.eventsAfter(0, Infinity).map(({ event }) => event.data),
  ]
}

function bodiesOf(world: World): readonly string[] {
  return world.eventsAfter(0, Infinity).map(({ event }) => String(serialize(event)))
}

/** A copy that shares nothing with the world, as from a file. */
function restoredFrom(world: World, seed: string): World {
  const copy = openWorld(seed, { activity: 0.2 })
  copy.restore(deserialize(toBytes(world.snapshot())) as WorldSnapshot)
  expect(copy.digest()).toBe(world.digest())
  return copy
}

it(
  'every command is applied or refused as a whole, the ledger adds up after each, and a restored world has the same future',
  { timeout: 3_600_000 },
  () => {
    fc.assert(
      fc.property(seed, plannedCommands(commandsPerRun), fc.nat(commandsPerRun), (name, planned, restoredAfter) => {
        const world = openWorld(name, { activity: 0.2 })
        world.advanceTo(world.now() + hourMs)
        let copy: World | undefined
        let products = productsOf(world)
        planned.forEach(({ waitMs, toCommand }, index) => {
          if (index === Math.min(restoredAfter, planned.length - 1)) copy = restoredFrom(world, name)
          for (const one of copy ? [world, copy] : [world]) one.advanceTo(one.now() + waitMs)
          const command = toCommand(world)
          for (const one of copy ? [world, copy] : [world]) attempt(one, command)
          expect(ledgerProblems(world)).toEqual([])
          const changed = productsOf(world)
          expectNoProductFell(products, changed, command)
          products = changed
        })
        world.advanceTo(world.now() + 2 * hourMs)
        copy?.advanceTo(world.now())
        expect(ledgerProblems(world)).toEqual([])
        expectNoProductFell(products, productsOf(world))
        const answers = answersOf(world)
        const numbers = answers.flatMap((item) => Object.values(item).filter((value) => typeof value === 'number'))
        expect(numbers.filter((value) => !Number.isFinite(value))).toEqual([])
        expect([copy?.digest(), copy && bodiesOf(copy)]).toEqual([world.digest(), bodiesOf(world)])
        expect(copy && answersOf(copy)).toEqual(answers)
      }),
      { numRuns: commandRuns },
    )
  },
)
