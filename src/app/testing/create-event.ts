import { eventExamples } from '../../../schema/events.ts'
import { parseEvent, type EventOf, type EventType } from '../../../schema/index.ts'

/** Changes to the example of the OpenAPI document. Missing fields of `data` keep their values; lists are replaced as a whole. */
export interface EventOverrides<T extends EventType> {
  readonly id?: string
  readonly created_at?: string
  readonly data?: Readonly<Partial<EventOf<T>['data']>>
}

/** Default `created_at`: the start of `createTestClock`. */
const createdAt = '2026-01-01T00:00:00.000Z'
let created = 0

/**
 * Creates a valid event of a type, with the ids `evt_test_1`, `evt_test_2` … per process. By default, events of one type
 * have the same address, and so the same key.
 *
 * @throws TypeError if the overrides make the event invalid
 *
 * @example
 * const event = createEvent('wallet.large_trade', { data: { amount_usd: 250_000 } })
 */
export function createEvent<const T extends EventType>(type: T, overrides: EventOverrides<T> = {}): EventOf<T> {
  const { id = `evt_test_${++created}`, created_at = createdAt, data } = overrides
  const event = { id, type, created_at, data: { ...structuredClone(eventExamples[type].data), ...data } }
  return parseEvent(event) as EventOf<T>
}
