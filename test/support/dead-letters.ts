import { expect } from 'vitest'
import { maxCrashes } from '../../src/inbox/port.ts'
import type { Sidecar } from './sidecar.ts'

interface DeadLetter {
  readonly event_id: string
}

/** Does what an operator does about dead letters of crashes, once those have an end; gives whose they were. */
export async function requeueCrashed(sidecar: Sidecar): Promise<Set<string>> {
  const { data } = (await (await sidecar.admin('dead-letters?limit=200')).json()) as { data: readonly DeadLetter[] }
  for (const dead of data) expect(dead).toMatchObject({ crashed: maxCrashes, error: { name: 'handler_crashed' } })
  const response = await sidecar.admin('dead-letters/requeue', { method: 'POST', body: '{"all":true}' })
  expect(await response.json()).toEqual({ requeued: data.length })
  return new Set(data.map(({ event_id }) => event_id))
}
