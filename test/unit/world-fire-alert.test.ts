import { describe, expect, it } from 'vitest'
import { alertTypes, type AlertType } from '../../schema/rest/alert.ts'
import {
  WorldRefusal,
  type World,
  type WorldCommand,
  type WorldEvent,
  type WorldSnapshot,
} from '../../src/emulator/world/port.ts'
import { ledgerProblems } from '../support/world-ledger.ts'
import { hourMs, minuteMs, openWorld, readLedger, refusalOf, somebody as nobodyYet, startAt } from '../support/world.ts'

interface Watched {
  readonly type: AlertType
  readonly address: string
  readonly threshold: number
  readonly isOneShot?: boolean
}

function add(world: World, alertId: string, watched: Watched): void {
  world.acts.apply({ kind: 'add-alert', alertId, network: 'ethereum', ...watched })
}

/** Makes an alert fire, and gives what arises within the act. */
function fire(world: World, alertId: string): readonly WorldEvent[] {
  const before = world.eventsAfter(0, Infinity).length
  const result = world.acts.apply({ kind: 'fire-alert', alertId })
  expect(result['alert']).toBe(alertId)
  expect(JSON.parse(JSON.stringify(result))).toEqual(result)
  return world.eventsAfter(before, Infinity)
}

/** Events in answer to one alert. */
function answersOf(events: readonly WorldEvent[], alertId: string): readonly WorldEvent[] {
  return events.filter(({ alertIds }) => alertIds.includes(alertId))
}

function refusalToFire(world: World, watched: Watched): string {
  add(world, 'alrt_refused', watched)
  const refusal = refusalOf(world, { kind: 'fire-alert', alertId: 'alrt_refused' })
  world.acts.apply({ kind: 'remove-alert', alertId: 'alrt_refused' })
  return refusal
}

function tokenOf(world: World): string {
  return world.views.tokens().find(({ network }) => network === 'ethereum')!.address
}

let snapshot: WorldSnapshot | undefined

/** A world that is older than a day, so that there is a mean hour; lived through once only. */
function dayOld(): World {
  const world = openWorld('day-old', { activity: 0.2 })
  if (snapshot !== undefined) world.restore(snapshot)
  else world.advanceTo(startAt + 27 * hourMs)
  snapshot ??= world.snapshot()
  return world
}

/** A world in which nobody acts, and in which something of the first token was traded hours ago. */
function quietFor(hours: number): World {
  const world = openWorld('quiet', { activity: 0 })
  world.acts.apply({ kind: 'price-move', network: 'ethereum', token: tokenOf(world), percent: 1 })
  world.advanceTo(startAt + hours * hourMs)
  return world
}

const typeOf: Readonly<Record<AlertType, WorldEvent['event']['type']>> = {
  price_above: 'token.price_alert',
  price_below: 'token.price_alert',
  volume_spike: 'token.volume_spike',
  whale_buy: 'wallet.large_trade',
  whale_sell: 'wallet.large_trade',
}

describe('an alert that is to fire', () => {
  it.each(alertTypes.flatMap((type) => (['busy', 'quiet'] as const).map((pace) => [type, pace] as const)))(
    'R42 A15 A14 does so at once if it is a %s on a token, in a %s world, again and again',
    (type, pace) => {
      const world = pace === 'busy' ? dayOld() : quietFor(3)
      const address = tokenOf(world)
      const price = world.views.token(world.views.findToken('ethereum', address)!).price_usd
      const threshold = { price_above: price * 1.02, price_below: price * 0.98, volume_spike: 900 }
      add(world, 'alrt_1', { type, address, threshold: { whale_buy: 30_000, whale_sell: 30_000, ...threshold }[type] })
      for (let round = 0; round < 3; round++) {
        const [answer, ...more] = answersOf(fire(world, 'alrt_1'), 'alrt_1')
        expect(answer?.event.type, `round ${round}`).toBe(typeOf[type])
        expect(more).toEqual([])
        world.advanceTo(world.now() + 65 * minuteMs)
      }
      expect(ledgerProblems(world)).toEqual([])
    },
  )

  it.each([
    ['whale_buy', 'a wallet that nobody has seen', 40_000],
    ['whale_sell', 'a wallet that nobody has seen', 40_000],
    ['whale_buy', 'a wallet that trades', 0.01],
    ['whale_sell', 'a wallet that trades', 40_000],
    ['whale_sell', 'a wallet that trades', 20],
  ] as const)('A15 does so if it is a %s on %s, from %d USD on', (type, who, threshold) => {
    const world = openWorld('wallets')
    world.advanceTo(startAt + 4 * hourMs)
    const trading = world.views.wallets().find((one) => one.network === 'ethereum' && one.archetype === 'whale')!
    const address = who === 'a wallet that trades' ? trading.address : nobodyYet
    add(world, 'alrt_1', { type, address, threshold })
    for (let round = 0; round < 3; round++) {
      const [answer, ...more] = answersOf(fire(world, 'alrt_1'), 'alrt_1')
      const data = answer?.event.data as { wallet_address: string; amount_usd: number; trade_type: string }
      expect(data).toMatchObject({ wallet_address: address, trade_type: type.slice(6) })
      expect(data.amount_usd).toBeGreaterThanOrEqual(threshold)
      expect(more).toEqual([])
    }
    expect(ledgerProblems(world)).toEqual([])
  })

  it.each(['whale_buy', 'whale_sell'] as const)(
    'A15 A5 makes somebody a whale for a %s of a token where there is none',
    (type) => {
      const world = openWorld('no whales', { activity: 0 })
      add(world, 'alrt_1', { type, address: tokenOf(world), threshold: 10 })
      const whales: boolean[] = []
      world.onEvent(({ event }) => {
        if (event.type !== 'wallet.large_trade') return
        const wallet = world.views.findWallet('ethereum', event.data.wallet_address)!
        whales.push(world.views.overview(wallet).is_whale)
      })
      expect(answersOf(fire(world, 'alrt_1'), 'alrt_1')).toHaveLength(1)
      // A wallet that has sold all is a whale no more.
      expect(whales).toEqual([type === 'whale_buy'])
    },
  )
})

describe('a price alert that waits on the far side of its line', () => {
  it.each([
    ['price_above', 0.7],
    ['price_below', 1.4],
  ] as const)('A17 fires after the price went back, where that is possible (%s)', (type, factor) => {
    const world = dayOld()
    let count = 0
    for (const ref of world.views.tokens().filter(({ network }) => network === 'solana')) {
      const threshold = world.views.token(ref).price_usd * factor
      const alertId = `alrt_${ref.index}`
      world.acts.apply({ kind: 'add-alert', alertId, type, network: 'solana', address: ref.address, threshold })
      const isPossible = !refusalOrNothing(world, alertId)
      const fired = answersOf(world.eventsAfter(0, Infinity), alertId)
      expect(fired, `${ref.address} ${threshold}`).toHaveLength(isPossible ? 1 : 0)
      count += fired.length
    }
    expect(count).toBeGreaterThan(3)
  })
})

/** Why an alert cannot fire, or null once it has. */
function refusalOrNothing(world: World, alertId: string): string | null {
  try {
    world.acts.apply({ kind: 'fire-alert', alertId })
    return null
  } catch (error) {
    if (!(error instanceof WorldRefusal)) throw error
    return error.message
  }
}

describe('an alert that cannot fire says why', () => {
  const quiet = () => openWorld('refused', { activity: 0 })

  it('if there is none, or if it has fired and was to fire once (A17)', () => {
    const world = quiet()
    expect(refusalOf(world, { kind: 'fire-alert', alertId: 'alrt_1' })).toMatch(/alrt_1 does not exist/)
    add(world, 'alrt_1', { type: 'whale_buy', address: nobodyYet, threshold: 10, isOneShot: true })
    fire(world, 'alrt_1')
    expect(refusalOf(world, { kind: 'fire-alert', alertId: 'alrt_1' })).toMatch(/fires only once and has fired/)
  })

  it('if it has fired once, also to those who trigger any price alert (A17)', () => {
    const world = quiet()
    const address = tokenOf(world)
    const { price_usd } = world.views.token(world.views.findToken('ethereum', address)!)
    add(world, 'alrt_1', { type: 'price_above', address, threshold: price_usd * 1.05, isOneShot: true })
    fire(world, 'alrt_1')
    world.advanceTo(world.now() + hourMs)
    expect(refusalOf(world, { kind: 'trigger', type: 'token.price_alert' })).toMatch(/no price alert can fire now/)
    expect(refusalOf(world, { kind: 'fire-alert', alertId: 'alrt_1' })).toMatch(/has fired/)
  })

  it('if it is on the price or the volume of what is no token', () => {
    const world = quiet()
    for (const type of ['price_above', 'price_below', 'volume_spike'] as const) {
      expect(refusalToFire(world, { type, address: nobodyYet, threshold: 10 })).toMatch(/there is no token 0x5aAeb/)
    }
  })

  it('if its token has nothing to be compared with, would have to be traded too much, or is not back yet (A14, A17)', () => {
    const world = quiet()
    const address = tokenOf(world)
    const buy = (usd: number) =>
      world.acts.apply({ kind: 'trade', network: 'ethereum', side: 'buy', wallet: nobodyYet, token: address, usd })
    const spike = { type: 'volume_spike', address, threshold: 100 } as const
    buy(5000)
    expect(refusalToFire(world, spike)).toMatch(/had no trades in the 24 hours before/)
    world.advanceTo(world.now() + 2 * hourMs)
    expect(refusalToFire(world, { ...spike, threshold: 1e12 })).toMatch(/it would need a trade of/)
    add(world, 'alrt_1', spike)
    fire(world, 'alrt_1')
    world.advanceTo(world.now() + 30 * minuteMs)
    const again: WorldCommand = { kind: 'fire-alert', alertId: 'alrt_1' }
    expect(refusalOf(world, again)).toMatch(/must fall back below 100 %, and five minutes must pass/)
    world.advanceTo(world.now() + 31 * minuteMs)
    expect(answersOf(fire(world, 'alrt_1'), 'alrt_1')).toHaveLength(1)
  })

  it('if nobody can sell its token, or if that has no pool yet', () => {
    const world = openWorld('on a curve')
    const address = tokenOf(world)
    world.acts.apply({ kind: 'honeypot', network: 'ethereum', token: address, honeypot: 'sell_blocked' })
    expect(refusalToFire(world, { type: 'whale_sell', address, threshold: 10 })).toMatch(/is a honeypot/)
    world.acts.apply({ kind: 'story', story: 'launch' })
    const onCurve = readLedger(world).state.tokens.find(({ curve }) => curve !== null)!
    for (const type of ['whale_buy', 'whale_sell', 'volume_spike'] as const) {
      const alert = { alertId: `alrt_${type}`, type, network: 'solana', address: onCurve.address } as const
      world.acts.apply({ kind: 'add-alert', ...alert, threshold: 10 })
      const refusal = refusalOf(world, { kind: 'fire-alert', alertId: alert.alertId })
      expect(refusal).toMatch(/still on its bonding curve: expected a token with a pool/)
    }
  })
})
