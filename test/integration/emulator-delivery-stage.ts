import { onTestFinished } from 'vitest'
import { createTestClock, type Clock, type TestClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { Endpoint } from '../../src/emulator/accounts/accounts.ts'
import { createDeliveries } from '../../src/emulator/deliveries/deliveries.ts'
import type { AttemptReport, Delivery, OutgoingEvent } from '../../src/emulator/deliveries/delivery.ts'
import { createDeliveryStore } from '../../src/emulator/deliveries/store.ts'
import { createFaults, type AttemptPlan, type Faults } from '../../src/emulator/faults/faults.ts'

export const stageSecret = 'whsec_0123456789abcdef'

export interface DeliveryStageOptions {
  readonly clock?: TestClock
  readonly wall?: Clock
  /** Deliveries of the previous process. */
  readonly stored?: readonly Delivery[]
  readonly faults?: Pick<Faults, 'holdMs' | 'planAttempt'>
}

/** The delivery engine with its store. Events go to all endpoints. */
export function createDeliveryStage(endpoints: readonly Endpoint[], options: DeliveryStageOptions = {}) {
  const { clock = createTestClock(), wall = createTestClock(), stored } = options
  const { faults = createFaults({ seed: 'stage' }) } = options
  const reports: AttemptReport[] = []
  const present = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const store = createDeliveryStore(stored)
  const deliveries = createDeliveries({
    clock,
    wall,
    faults,
    store,
    find: (id) => present.get(id) ?? null,
    log: silentLogger,
    onAttempt: (report) => reports.push(report),
  })
  onTestFinished(() => deliveries.close())
  return {
    clock,
    store,
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
