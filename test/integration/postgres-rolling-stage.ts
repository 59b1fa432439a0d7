import type { Inbox, Lease } from '../../src/inbox/port.ts'
import { anEvent, idsOf } from '../conformance/stage.ts'

/** Events of the same key. */
export const accept = (inbox: Inbox, ...ids: readonly string[]) =>
  inbox.accept(ids.map((id) => anEvent(id, { network: 'base', address: 'A' })))

const claim = (inbox: Inbox, handler = 'fresh', max = 1) =>
  inbox.claim({ handlers: [handler], max, owner: 'worker', suspects: false })

const end = (inbox: Inbox, leases: readonly Lease[]) =>
  inbox.settle(leases.map(({ runId, token }) => ({ runId, token, startedAt: 0, endedAt: 0, kind: 'done' })))

/** Works off so many runs, of `fresh` where nothing else is said; gives their events. */
export async function workOff(inbox: Inbox, count: number, handler?: string): Promise<string[]> {
  const seen: string[] = []
  while (seen.length < count) {
    const leases = await claim(inbox, handler)
    seen.push(...idsOf(leases))
    await end(inbox, leases)
  }
  return seen
}
