import { createEvent } from '../testing/create-event.ts'
import type { ScenarioContext, TestEvent } from './port.ts'

export interface EventSource extends Pick<ScenarioContext, 'newId' | 'newEvent' | 'sample'> {
  /** What the ids of its events begin with, and no others. */
  readonly prefix: string
}

/**
 * Events that are new to every receiver, if `run` (digits and small letters) is. All of them arose at `startedAt` unless something
 * else is asked for, so that a receiver that drops what is older than the newest shows it where that is tested.
 */
export function createEventSource(run: string, startedAt: number): EventSource {
  let count = 0
  const prefix = `evt_conf_${run}_`
  const newId = () => `${prefix}${++count}`
  return {
    prefix,
    newId,
    newEvent({ ageMs = 0, wallet, data } = {}) {
      const id = newId()
      const own = { wallet_address: wallet ?? walletOf(run, count), ...data }
      return toTestEvent(createEvent('wallet.large_trade', { id, created_at: isoTime(startedAt - ageMs), data: own }))
    },
    sample: (type) => toTestEvent(createEvent(type, { id: newId(), created_at: isoTime(startedAt) })),
  }
}

/** An event as the bytes that `JSON.stringify` makes of it: other forms are a scenario of their own. */
function toTestEvent(event: { readonly id: string }): TestEvent {
  return { id: event.id, body: Buffer.from(JSON.stringify(event)) }
}

/** A wallet of this run. */
function walletOf(run: string, number: number): string {
  return `0x${Buffer.from(`${run}${number}`).toString('hex').padStart(40, '0').slice(-40)}`
}

function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}
