import { encodeCursor } from '../../src/inbox/cursor.ts'
import { eventStatuses } from '../../src/inbox/port.ts'
import type { Views } from '../../src/inbox/views/views.ts'

const far = { limit: 50, cursor: encodeCursor(26_000) }
const rare = { group: 'Rare: boom' }
/** Reads of views, for tests of their query plans. The stores have 20,000 events or more. */
export const viewReads: readonly [string, (of: Views) => Promise<unknown>][] = [
  ['the newest events', (of) => of.events({ limit: 50 })],
  ['later events', (of) => of.events(far)],
  ['events of a type', (of) => of.events({ limit: 50, type: 'type.2' })],
  ['events of an unknown type', (of) => of.events({ limit: 50, type: 'none' })],
  ['events of a wallet', (of) => of.events({ limit: 50, network: 'base', address: '777' })],
  ['events of a period', (of) => of.events({ limit: 50, from: 10_000, to: 11_000 })],
  ['events with a word', (of) => of.events({ limit: 50, q: 'w99' })],
  ...eventStatuses.map((status): (typeof viewReads)[number] => {
    return [`events that are ${status}`, (of) => of.events({ limit: 50, status })]
  }),
  ['events that are dead with a word', (of) => of.events({ limit: 50, status: 'dead', q: 'w99' })],
  ['an event', (of) => of.event('e4243')],
  ['unknown ids', (of) => of.unknownIds(Array.from({ length: 1_000 }, (_, n) => `e${n * 1_000}`))],
  ['the newest dead letters', (of) => of.deadLetters({ limit: 50 })],
  ['later dead letters', (of) => of.deadLetters({ limit: 50, cursor: encodeCursor(500, 50_000) })],
  ['dead letters by all filters', (of) => of.deadLetters({ limit: 50, handler: 'ordered', type: 'type.1', ...rare })],
  ['a dead letter', (of) => of.deadLetter(8)],
  ['groups of dead letters', (of) => of.deadGroups({})],
  ['groups of dead letters of a type', (of) => of.deadGroups({ type: 'type.1' })],
  ['run ids of dead letters', (of) => of.deadRunIds({ handler: 'ordered', type: 'type.1' })],
  ['conflicts', (of) => of.conflicts({ limit: 50 })],
  ['a conflict', (of) => of.conflict('e77', 'none')],
  ['the quarantine', (of) => of.quarantine({ limit: 50 })],
  ['the quarantine by reason', (of) => of.quarantine({ limit: 50, reason: 'reason 1' })],
  ['a body in quarantine', (of) => of.quarantined('sha256:77')],
  ['replays', (of) => of.replays({ limit: 50 })],
  ['a replay', (of) => of.replay(77)],
  ['the events of a replay', (of) => of.countReplay({ from: 0 }, [{ types: ['*'] }])],
  ['the events of a replay by status', (of) => of.countReplay({ status: 'dead', type: 'type.1' }, [{ types: ['*'] }])],
  ['the audit', (of) => of.audit({ limit: 50 })],
  ['the counts', (of) => of.stats()],
  ['the dead letters of the last hour', (of) => of.deadLastHour()],
]
