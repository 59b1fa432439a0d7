import { describe, expect, it } from 'vitest'
import { collectEvents, dataOf, minuteMs, openWorld, quietWorld } from '../support/world.ts'

/** A quiet world with one alert on the price of one token. */
function watch(type: 'price_above' | 'price_below', percentAway: number) {
  const quiet = quietWorld('watched')
  const { world, network, first, events } = quiet
  const price = () => world.views.token(world.views.findToken(network, first)!).price_usd
  const threshold = price() * (1 + percentAway / 100)
  quiet.alert('alrt_1', type, first, threshold)
  return {
    ...quiet,
    threshold,
    price,
    /** Moves the price to `percent` above the threshold; negative: below. */
    moveTo: (percent: number) =>
      quiet.act({ kind: 'price-move', network, token: first, priceUsd: threshold * (1 + percent / 100) }),
    alerts: () => dataOf(events, 'token.price_alert'),
  }
}

describe('an alert on a price', () => {
  it.each([
    ['price_above', 5, 1],
    ['price_below', -5, -1],
  ] as const)(
    'R93 R104 A17 %s fires once per crossing, with the type and threshold of the alert',
    (type, away, sign) => {
      const { moveTo, alerts, threshold, price, events } = watch(type, away)
      moveTo(-0.2 * sign)
      expect(alerts()).toEqual([])
      moveTo(0.2 * sign)
      expect(alerts()).toMatchObject([{ alert_type: type, threshold_usd: threshold, current_price_usd: price() }])
      expect(events[0]).toMatchObject({ alertIds: ['alrt_1'], audience: 'owners' })
      moveTo(3 * sign)
      moveTo(1 * sign)
      expect(alerts()).toHaveLength(1)
    },
  )

  describe.each([
    ['price_above', 5, 1],
    ['price_below', -5, -1],
  ] as const)('A17 R42 %s after a notification', (type, away, sign) => {
    it.each([
      ['is re-armed by an excursion that ends within the 5 minutes', '1:-3 2:-0.2 5.25:3', [0, 5.25]],
      ['is re-armed by an excursion of 0.6 % after the 5 minutes', '20:-0.6 21:3', [0, 21]],
      ['delivers a crossing within the 5 minutes when they end', '1:-3 2:3', [0, 5]],
      ['delivers several crossings within the 5 minutes once', '1:-3 2:3 3:-3 4:3', [0, 5]],
      ['drops a crossing that no longer holds when they end', '1:-3 2:3 3:-3', [0]],
      ['stays re-armed after a dropped crossing', '1:-3 2:3 3:-0.2 9:3', [0, 9]],
      ['is not re-armed by an excursion of 0.3 %', '1:-0.3 2:3 20:-0.3 21:3', [0]],
      ['waits 5 minutes after a delayed notification too', '1:-3 2:3 6:-3 7:3', [0, 5, 10]],
    ])('%s', (_, points, expected) => {
      const { world, moveTo, events } = watch(type, away)
      moveTo(sign)
      const firedAt = world.now()
      // Minutes after the first notification, and percent beyond the threshold.
      for (const [minutes = 0, percent = 0] of points.split(' ').map((point) => point.split(':').map(Number))) {
        world.advanceTo(firedAt + minutes * minuteMs)
        moveTo(percent * sign)
      }
      world.advanceTo(firedAt + 60 * minuteMs)
      expect(events.map(({ event }) => (Date.parse(event.created_at) - firedAt) / minuteMs)).toEqual(expected)
    })
  })

  it.each([
    ['price_above', -5, 1],
    ['price_below', 5, -1],
  ] as const)(
    'A17 %s whose threshold is passed already fires after the price was on the other side',
    (type, away, sign) => {
      const { moveTo, alerts } = watch(type, away)
      moveTo(sign)
      expect(alerts()).toEqual([])
      // It never fired, so a small move back re-arms it at once.
      moveTo(-0.1 * sign)
      expect(alerts()).toEqual([])
      moveTo(0.1 * sign)
      expect(alerts()).toHaveLength(1)
    },
  )

  it('R93 fires when only the price of the coin moved', () => {
    const { wait, threshold, price, alerts } = watch('price_above', 0.5)
    while (price() <= threshold) wait(1)
    expect(alerts()).toMatchObject([{ alert_type: 'price_above', current_price_usd: price() }])
  })

  it('R33 stays silent until a token is listed at its address', () => {
    const list = { kind: 'list', network: 'base', symbol: 'NEW', name: 'New', liquidityUsd: 1e6 } as const
    const address = String(openWorld('listed', { activity: 0 }).commands.apply(list)['token'])
    const world = openWorld('listed', { activity: 0 })
    const events = collectEvents(world)
    const alert = { kind: 'add-alert', type: 'price_above', network: 'base', threshold: 1e-12 } as const
    const [wallet] = world.views.wallets().filter(({ network }) => network === 'base')
    world.commands.apply({ ...alert, alertId: 'alrt_wallet', address: wallet!.address })
    world.commands.apply({ ...alert, alertId: 'alrt_token', address })
    world.advanceTo(world.now() + 60 * minuteMs)
    expect(events).toEqual([])
    world.commands.apply(list)
    world.advanceTo(world.now() + 60 * minuteMs)
    expect(events.flatMap(({ alertIds }) => alertIds)).toEqual(['alrt_token'])
  })
})
