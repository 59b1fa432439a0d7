import { expect } from 'vitest'
import { maxCrashes } from '../../src/inbox/port.ts'
import type { DeadLetterJson } from '../../src/admin/dead-letters.ts'
import type { Sidecar } from './sidecar.ts'

/** Requeues all dead letters, like an operator, and returns their events. Expects that all of them are of crashes. */
export async function requeueCrashed(sidecar: Sidecar): Promise<Set<string>> {
  const { data: crashed } = (await (await sidecar.admin('dead-letters?limit=200')).json()) as {
    data: readonly DeadLetterJson[]
  }
  for (const dead of crashed) expect(dead).toMatchObject({ crashed: maxCrashes, error: { name: 'handler_crashed' } })
  if (crashed.length > 0) {
    const body = JSON.stringify({ run_ids: crashed.map(({ run_id }) => run_id) })
    const response = await sidecar.admin('dead-letters/requeue', { method: 'POST', body })
    expect(await response.json()).toEqual({ requeued: crashed.length, complete: true })
  }
  return new Set(crashed.map(({ event_id }) => event_id))
}
