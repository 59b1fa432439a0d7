import { expect, it } from 'vitest'
import { dataOf, hourMs, quietWorld } from '../support/world.ts'

/** A quiet world in which 2,400 USD of a token were traded two hours ago: 100 in the mean hour. */
function watch(threshold = 100) {
  const quiet = quietWorld('watched volume')
  const { world, events, first, buy } = quiet
  buy(2400)
  world.advanceTo(world.now() + 2 * hourMs)
  return {
    ...quiet,
    alert: (alertId: string, address = first, isOneShot = false) =>
      quiet.alert(alertId, 'volume_spike', address, threshold, isOneShot),
    alerts: () => dataOf(events, 'token.volume_spike'),
  }
}

it('A14 A41 a volume alert fires once when the last hour exceeds the mean of the 24 before by the threshold', () => {
  const { world, first, network, buy, alert, alerts, events } = watch()
  alert('alrt_1')
  buy(150)
  buy(50)
  expect(alerts()).toEqual([])
  buy(2)
  const { symbol } = world.views.token(world.views.findToken(network, first)!)
  expect(alerts()).toEqual([
    {
      token_address: first,
      network,
      symbol,
      alert_type: 'volume_spike',
      threshold_pct: 100,
      increase_pct: 102,
      volume_1h_usd: 202,
      mean_hourly_volume_usd: 100,
    },
  ])
  expect(events[0]).toMatchObject({ alertIds: ['alrt_1'], audience: 'owners', cause: world.seq() })
  expect(events[0]?.event.id).toMatch(/^evt_/)
  buy(500)
  expect(alerts()).toHaveLength(1)
})

it('A14 a volume alert counts purchases, sales and both halves of a swap', () => {
  const { world, swap, first, second, buy, alert, alerts } = watch()
  buy(2400, { token: second })
  world.advanceTo(world.now() + 2 * hourMs)
  alert('alrt_1')
  alert('alrt_2', second)
  swap()
  expect(alerts().map(({ token_address }) => token_address)).toEqual([first, second])
  expect(alerts().every(({ volume_1h_usd }) => volume_1h_usd > 2300 && volume_1h_usd < 2400)).toBe(true)
})

it('A14 a volume alert ignores trades older than 25 hours', () => {
  const { buy, alert, wait, alerts } = watch()
  alert('alrt_1')
  // The 2,400 USD are now one minute short of 25 hours old.
  wait(23 * 60 - 1)
  buy(250)
  wait(61)
  buy(25)
  expect(alerts()).toMatchObject([
    { increase_pct: 150, volume_1h_usd: 250, mean_hourly_volume_usd: 100 },
    { increase_pct: 140, volume_1h_usd: 25, mean_hourly_volume_usd: 10.42 },
  ])
})

it('A14 a volume alert is silent without trades in the 24 hours before', () => {
  const { buy, alert, wait, alerts, second } = watch()
  alert('alrt_new', second)
  buy(50_000, { token: second })
  wait(59)
  buy(50_000, { token: second })
  alert('alrt_old')
  wait(24 * 60)
  buy(50_000)
  expect(alerts()).toEqual([])
})

it('A17 a volume alert fires again after the volume fell back without a trade', () => {
  const { buy, alert, wait, alerts } = watch()
  alert('alrt_1')
  buy(300)
  wait(61)
  buy(1000)
  expect(alerts().map(({ volume_1h_usd }) => volume_1h_usd)).toEqual([300, 1000])
})

it('A17 a volume alert delivers a crossing within the rest period at its end, without a trade then', () => {
  const { buy, alert, wait, alerts } = watch()
  alert('alrt_1')
  buy(190)
  wait(58)
  buy(20)
  expect(alerts()).toHaveLength(1)
  // The 190 USD are older than an hour now.
  wait(4)
  buy(1)
  buy(300)
  expect(alerts()).toHaveLength(1)
  wait(1)
  expect(alerts().map(({ volume_1h_usd }) => volume_1h_usd)).toEqual([210, 321])
  wait(5)
  buy(10)
  expect(alerts()).toHaveLength(2)
})
