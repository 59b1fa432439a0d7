import { parseEvent, type EventOf, type EventType } from '../../../schema/index.ts'
import { sampleData } from './sample-data.ts'

/** What is to be other than in the sample. Fields of `data` that are not given stay as they are; lists are replaced whole. */
export interface EventOverrides<T extends EventType> {
  readonly id?: string
  readonly created_at?: string
  readonly data?: Readonly<Partial<EventOf<T>['data']>>
}

/** When every event was created that says nothing else: where `createTestClock` begins. */
const createdAt = '2026-01-01T00:00:00.000Z'
let created = 0

/**
 * A valid event of a type. The same calls give the same events, each with an id of its own: `evt_test_1`, `evt_test_2` … in each
 * process, or worker of the test runner. Events of one type are about one address, unless `data` says otherwise: they share a key.
 *
 * @throws TypeError if the overrides make it an event that is not valid
 *
 * @example
 * const event = createEvent('wallet.large_trade', { data: { amount_usd: 250_000 } })
 */
export function createEvent<const T extends EventType>(type: T, overrides: EventOverrides<T> = {}): EventOf<T> {
  const { id = `evt_test_${++created}`, created_at = createdAt, data } = overrides
  const event = { id, type, created_at, data: { ...structuredClone(sampleData[type]), ...data } }
  return parseEvent(event) as EventOf<T>
}
