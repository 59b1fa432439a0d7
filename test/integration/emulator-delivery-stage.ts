import { onTestFinished } from 'vitest'
import { createTestClock, type Clock, type TestClock } from '../../src/base/clock.ts'
import { createTemporaryStorage } from '../../src/emulator/data/delivery-store.ts'
import { createDeliveries } from '../../src/emulator/deliveries/deliveries.ts'
import type { AttemptReport, DeliveryStore, Endpoint, OutgoingEvent } from '../../src/emulator/deliveries/port.ts'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import type { AttemptPlan, Faults } from '../../src/emulator/faults/port.ts'
import { silentLogger } from '../../src/base/log.ts'

export const stageSecret = 'whsec_0123456789abcdef'

export interface DeliveryStageOptions {
  readonly clock?: TestClock
  readonly wall?: Clock
  readonly store?: DeliveryStore
  readonly faults?: Pick<Faults, 'holdMs' | 'planAttempt'>
}

/** The delivery engine over a real store. Events go to all endpoints. */
export function createDeliveryStage(endpoints: readonly Endpoint[], options: DeliveryStageOptions = {}) {
  const { clock = createTestClock(), wall = createTestClock(), store } = options
  const { faults = createFaults({ seed: 'stage' }) } = options
  const reports: AttemptReport[] = []
  const present = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const own = store === undefined ? createTemporaryStorage() : null
  const deliveries = createDeliveries({
    clock,
    wall,
    faults,
    store: store ?? own!.deliveries,
    find: (id) => present.get(id) ?? null,
    log: silentLogger,
    onAttempt: (report) => reports.push(report),
  })
  onTestFinished(() => {
    deliveries.close()
    own?.close()
  })
  return {
    clock,
    deliveries,
    reports,
    endpoints: present,
    send: (event: OutgoingEvent) => deliveries.send(event, [...present.values()]),
  }
}

/** An endpoint of the tests. */
export function stageEndpoint(url: string, changes: Partial<Endpoint> = {}): Endpoint {
  return { id: 'wh_1', url, secret: stageSecret, ...changes }
}

/** An event by its number. */
export function outgoing(n = 1, type = 'token.price_alert'): OutgoingEvent {
  const id = `evt_${String(n).padStart(26, '0')}`
  return { id, type, body: Buffer.from(`{"id": "${id}", "amount_usd": 12000.0}`) }
}

/** Faults that apply `changes` to every attempt. */
export function always(changes: Partial<AttemptPlan>): Pick<Faults, 'holdMs' | 'planAttempt'> {
  const plain = createFaults({ seed: 'stage' })
  return {
    holdMs: () => 0,
    planAttempt: (target, attempt) => ({ ...plain.planAttempt(target, attempt), faults: ['of the test'], ...changes }),
  }
}
