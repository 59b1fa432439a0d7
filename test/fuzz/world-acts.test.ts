import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WorldRefusal, type World, type WorldCommand } from '../../src/emulator/world/port.ts'
import { plannedActs } from '../support/world-acts.ts'
import { worldCounts } from '../counts.ts'
import { ledgerProblems } from '../support/world-ledger.ts'
import { activeWallets, asOfNow, hourMs, openWorld, readLedger } from '../support/world.ts'

const { actRuns, actsPerRun } = worldCounts
const seed = fc.stringMatching(/^[a-z]{1,4}$/)

/** Does it, or is refused and then has changed nothing. */
function attempt(world: World, act: WorldCommand): void {
  const before = { digest: world.digest(), seq: world.seq(), now: world.now() }
  const events = world.eventsAfter(0, Infinity).length
  try {
    world.acts.apply(act)
  } catch (error) {
    if (!(error instanceof WorldRefusal)) throw new Error(`${inspect(act)} failed`, { cause: error })
    const after = { digest: world.digest(), seq: world.seq(), now: world.now() }
    expect(after, `${inspect(act)} was refused (${error.message}), and yet changed something`).toEqual(before)
    expect(world.eventsAfter(0, Infinity)).toHaveLength(events)
    expect(error.message.length).toBeGreaterThan(10)
  }
}

function inspect(act: WorldCommand): string {
  return JSON.stringify(act, (_name, value: unknown) => (typeof value === 'number' ? String(value) : value))
}

/** Products of pools and the numbers of the log that only removal may make smaller. */
function productsOf(world: World): ReadonlyMap<string, { readonly product: bigint; readonly removals: number }> {
  const { state } = readLedger(world)
  return new Map(
    state.tokens.flatMap(({ network, address, pool }, index) => {
      if (pool === null) return []
      const removals = state.log.filter(({ kind, token }) => kind === 'liquidity-removed' && token === index).length
      return [[`${network}:${address}`, { product: pool.coins * pool.tokens, removals }] as const]
    }),
  )
}

function expectNoProductFell(before: ReturnType<typeof productsOf>, after: ReturnType<typeof productsOf>): void {
  for (const [place, { product, removals }] of before) {
    const then = after.get(place)
    expect(then, place).toBeDefined()
    if (then?.removals === removals) expect(then.product >= product, place).toBe(true)
  }
}

/** Whatever is shown of a world is a finite number. */
function expectFiniteAnswers(world: World): void {
  const { views } = world
  const asOf = asOfNow(world)
  const shown = [
    ...views.tokens().map((token) => views.token(token)),
    ...activeWallets(world).flatMap((wallet) => [
      views.overview(wallet),
      views.pnl(wallet, '24h').pnl,
      ...views.portfolio(wallet, { limit: 100, after: null, asOf }).items,
      ...views.trades(wallet, { limit: 20, after: null, asOf }, null).items,
    ]),
    ...world.eventsAfter(0, Infinity).map(({ event }) => event.data),
  ]
  const wrong = shown.filter((item) =>
    Object.values(item).some((value) => typeof value === 'number' && !Number.isFinite(value)),
  )
  expect(wrong).toEqual([])
}

describe('whatever is done to a world, at whatever moments', () => {
  it('every act is done or refused as a whole, and the books are right after each', { timeout: 3_600_000 }, () => {
    fc.assert(
      fc.property(seed, plannedActs(actsPerRun), (name, acts) => {
        const world = openWorld(name, { activity: 0.2 })
        world.advanceTo(world.now() + hourMs)
        let products = productsOf(world)
        for (const { waitMs, toAct } of acts) {
          world.advanceTo(world.now() + waitMs)
          attempt(world, toAct(world))
          expect(ledgerProblems(world)).toEqual([])
          const changed = productsOf(world)
          expectNoProductFell(products, changed)
          products = changed
        }
        world.advanceTo(world.now() + 2 * hourMs)
        expect(ledgerProblems(world)).toEqual([])
        expectNoProductFell(products, productsOf(world))
        expectFiniteAnswers(world)
      }),
      { numRuns: actRuns },
    )
  })
})
