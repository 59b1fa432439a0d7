import { expect } from 'vitest'
import { maxCrashes } from '../../src/inbox/port.ts'
import type { Sidecar } from './sidecar.ts'

interface DeadLetter {
  readonly run_id: number
  readonly event_id: string
}

/**
 * Does what an operator does about dead letters of crashes, once those have an end; gives whose they were. `isExpected`: dead
 * letters that are to be left alone.
 */
export async function requeueCrashed(
  sidecar: Sidecar,
  isExpected: (eventId: string) => boolean = () => false,
): Promise<Set<string>> {
  const { data } = (await (await sidecar.admin('dead-letters?limit=200')).json()) as { data: readonly DeadLetter[] }
  const crashed = data.filter(({ event_id }) => !isExpected(event_id))
  for (const dead of crashed) expect(dead).toMatchObject({ crashed: maxCrashes, error: { name: 'handler_crashed' } })
  if (crashed.length > 0) {
    const body = JSON.stringify({ run_ids: crashed.map(({ run_id }) => run_id) })
    const response = await sidecar.admin('dead-letters/requeue', { method: 'POST', body })
    expect(await response.json()).toEqual({ requeued: crashed.length, complete: true })
  }
  return new Set(crashed.map(({ event_id }) => event_id))
}
