import type { Finding } from './checks.ts'
import { digestOf, isAcknowledged, type RecordedRequest } from './history.ts'
import type { Effect, StoredCopy } from './ledger.ts'
import { ask } from './postgres.ts'
import type { PassedRequest } from './cluster-mirror.ts'

/** Entry that a handler stores for one event. */
export interface LedgerEntry {
  readonly id: string
  /** Number of the attempt that was stored. */
  readonly attempt: number
  /** Label of the handler's source. */
  readonly label: string
}

/** Entries by key, in the order of handling. */
export type HandledByKey = ReadonlyMap<string, readonly LedgerEntry[]>

/** Source of a handler that stores in its state, per key, the events in the order of handling. */
export function ledgerSource(label: string): string {
  return `
import { defineHandler } from 'onchain-inbox'

export default defineHandler({
  type: 'wallet.*',
  async run({ id, data }, ctx) {
    const entries = (await ctx.state.get(data.wallet_address)) ?? []
    ctx.state.set(data.wallet_address, [...entries, [id, ctx.attempt, '${label}']])
  },
})
`
}

export const ledgerHandler = ledgerSource('')

/** What a cluster has stored. Call after all replicas have stopped. */
export async function readCluster(url: string) {
  const events = await ask<{ id: string; seq: string; raw: Buffer; count: number }>(
    url,
    `SELECT e.id, e.seq, b.raw, coalesce(r.count, 0) AS count FROM inbox.event e JOIN inbox.body b ON b.seq = e.seq
     LEFT JOIN inbox.redelivery r ON r.event_seq = e.seq WHERE e.type NOT LIKE 'inbox.%' ORDER BY e.seq`,
  )
  const conflicts = await ask<{ id: string }>(
    url,
    `SELECT e.id FROM inbox.conflict c JOIN inbox.event e ON e.seq = c.event_seq`,
  )
  const [open] = await ask<{ count: string }>(url, `SELECT count(*) AS count FROM inbox.run WHERE state < 5`)
  const [missing] = await ask<{ count: string }>(
    url,
    `SELECT (SELECT last_seq FROM inbox.counter) - (SELECT count(*) FROM inbox.event) AS count`,
  )
  if (missing?.count !== '0') throw new Error(`the accept sequence has gaps: ${missing?.count} numbers are missing`)
  const handled = await readHandled(url, 'ledger')
  return {
    stored: events.map(({ id, raw }, at) => ({ id, seq: at + 1, digest: digestOf(raw) })),
    effects: effectsOf(handled),
    handled,
    openRuns: Number(open?.count),
    /** Number of redeliveries with the same bytes, by event id. */
    redelivered: new Map(events.map(({ id, count }) => [id, count])),
    /** Ids of events that also arrived with other bytes. */
    conflicts: conflicts.map(({ id }) => id),
  }
}

/** A begin and an end for each entry. */
export function effectsOf(handled: HandledByKey): readonly Effect[] {
  return [...handled.values()]
    .flat()
    .flatMap(({ id, attempt }) => (['begin', 'end'] as const).map((step) => ({ id, attempt, pid: 0, step })))
}

/** Reads the state of a handler made by `ledgerSource`. */
export async function readHandled(url: string, handler: string): Promise<HandledByKey> {
  const state = await ask<{ key: string; value: string }>(
    url,
    `SELECT s.key, s.value FROM inbox.state s JOIN inbox.handler h ON h.id = s.handler_id WHERE h.name = $1`,
    [handler],
  )
  return new Map(
    state.map(({ key, value }) => {
      const entries = JSON.parse(value) as [string, number, string][]
      return [key, entries.map(([id, attempt, label]) => ({ id, attempt, label }))]
    }),
  )
}

/** Checks P3 and P4 for a handler that had to handle exactly the events of `stored`. */
export function checkHandled(stored: readonly StoredCopy[], handled: HandledByKey): Finding[] {
  const findings: Finding[] = []
  const seqs = new Map(stored.map(({ id, seq }) => [id, seq]))
  const counted = new Map<string, number>()
  for (const [key, entries] of handled) {
    for (const [at, { id }] of entries.entries()) {
      counted.set(id, (counted.get(id) ?? 0) + 1)
      const before = entries[at - 1]?.id
      if (!seqs.has(id)) findings.push({ property: 'P2', what: `${id} was handled and is not among the events` })
      if (before !== undefined && (seqs.get(before) ?? 0) > (seqs.get(id) ?? 0))
        findings.push({ property: 'P4', what: `${before} was handled before ${id}, which is older, of key ${key}` })
    }
  }
  for (const { id } of stored) {
    const times = counted.get(id) ?? 0
    if (times !== 1) findings.push({ property: 'P3', what: `${id} took effect ${times} times` })
  }
  return findings.slice(0, 10)
}

/** Number of runs by handler and event id. */
export async function readRuns(url: string): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const rows = await ask<{ name: string; id: string; count: string }>(
    url,
    `SELECT h.name, e.id, count(*) AS count FROM inbox.run r JOIN inbox.handler h ON h.id = r.handler_id
     JOIN inbox.event e ON e.seq = r.event_seq GROUP BY h.name, e.id`,
  )
  const byHandler = Map.groupBy(rows, ({ name }) => name)
  return new Map(
    [...byHandler].map(([name, ofHandler]) => [name, new Map(ofHandler.map(({ id, count }) => [id, Number(count)]))]),
  )
}

/** One delivery of an event. */
type Sent = Pick<RecordedRequest | PassedRequest, 'id' | 'answer'> & Partial<Pick<PassedRequest, 'became'>>

/** Checks P3 for repeated deliveries: one is accepted, the others are redeliveries. One without response may or may not count. */
export function checkDuplicates(
  sent: readonly Sent[],
  { stored, redelivered, conflicts }: Awaited<ReturnType<typeof readCluster>>,
): Finding[] {
  const isStored = new Set(stored.map(({ id }) => id))
  const findings: Finding[] = conflicts.map((id) => ({ property: 'P3', what: `${id} has a conflict` }))
  for (const [id, times] of Map.groupBy(sent, (one) => one.id)) {
    if (!isStored.has(id)) continue
    const accepted = times.filter(({ became }) => became === 'accepted').length
    if (accepted > 1) findings.push({ property: 'P3', what: `${id} was accepted by ${accepted} replicas` })
    const least = times.filter((one) => isAcknowledged(one)).length - 1
    const most = times.length - 1
    const found = redelivered.get(id) ?? 0
    if (found < least || found > most)
      findings.push({ property: 'P3', what: `${id} has ${found} redeliveries, expected ${least} to ${most}` })
  }
  return findings.slice(0, 10)
}

/** Number of events that several replicas acknowledged. */
export function countShared(passed: readonly PassedRequest[]): number {
  const byId = Map.groupBy(
    passed.filter((one) => isAcknowledged(one)),
    ({ id }) => id,
  )
  return [...byId.values()].filter((times) => new Set(times.map(({ port }) => port)).size > 1).length
}
