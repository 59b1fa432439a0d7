import type { Finding } from './checks.ts'
import { digestOf, isAcknowledged, type RecordedRequest } from './history.ts'
import type { Effect, StoredCopy } from './ledger.ts'
import { ask } from './postgres.ts'

/** Source of a handler that writes into its state, for each key, the ids of the events in the order in which it handled them. */
export const ledgerHandler = `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  async run(event, ctx) {
    const key = event.data.wallet_address
    await ctx.state.set(key, [...((await ctx.state.get(key)) ?? []), event.id])
  },
})
`

/** What a cluster has stored, read when nothing works on it any more. */
export interface ClusterFound {
  readonly stored: readonly StoredCopy[]
  /** As if each event of the ledger had begun and ended there. */
  readonly effects: readonly Effect[]
  /** Ids in the order in which they were handled, by key. */
  readonly handled: ReadonlyMap<string, readonly string[]>
  readonly openRuns: number
}

/** Reads the tables: what the product says of itself is tested elsewhere. */
export async function readCluster(url: string): Promise<ClusterFound> {
  const events = await ask<{ id: string; seq: string; raw: Buffer }>(
    url,
    `SELECT e.id, e.seq, b.raw FROM inbox.event e JOIN inbox.body b ON b.seq = e.seq WHERE e.type NOT LIKE 'inbox.%' ORDER BY e.seq`,
  )
  const state = await ask<{ key: string; value: string }>(
    url,
    `SELECT s.key, s.value FROM inbox.state s JOIN inbox.handler h ON h.id = s.handler_id WHERE h.name = 'ledger'`,
  )
  const [open] = await ask<{ count: string }>(url, `SELECT count(*) AS count FROM inbox.run WHERE state < 5`)
  const [missing] = await ask<{ count: string }>(
    url,
    `SELECT (SELECT last_seq FROM inbox.counter) - (SELECT count(*) FROM inbox.event) AS count`,
  )
  if (missing?.count !== '0') throw new Error(`the accept sequence has gaps: ${missing?.count} numbers are missing`)
  const handled = new Map(state.map(({ key, value }) => [key, JSON.parse(value) as string[]]))
  return {
    stored: events.map(({ id, raw }, at) => ({ id, seq: at + 1, digest: digestOf(raw) })),
    effects: [...handled.values()]
      .flat()
      .flatMap((id) => (['begin', 'end'] as const).map((step) => ({ id, attempt: 1, pid: 0, step }))),
    handled,
    openRuns: Number(open?.count),
  }
}

/** P3 and P4 of effects that are stored with the run: each event once, of each key in the accept sequence. */
export function checkLedger(requests: readonly RecordedRequest[], { stored, handled }: ClusterFound): Finding[] {
  const findings: Finding[] = []
  const seqs = new Map(stored.map(({ id, seq }) => [id, seq]))
  const counted = new Map<string, number>()
  for (const [key, ids] of handled) {
    for (const [at, id] of ids.entries()) {
      counted.set(id, (counted.get(id) ?? 0) + 1)
      const before = ids[at - 1]
      if (before !== undefined && (seqs.get(before) ?? 0) > (seqs.get(id) ?? 0))
        findings.push({ property: 'P4', what: `${before} was handled before ${id}, which is older, of key ${key}` })
    }
  }
  for (const { id } of stored) {
    const times = counted.get(id) ?? 0
    if (times !== 1) findings.push({ property: 'P3', what: `${id} took effect ${times} times` })
  }
  for (const request of requests) {
    if (request.op === 'deliver' && isAcknowledged(request) && !seqs.has(request.id))
      findings.push({ property: 'P1', what: `${request.id} was acknowledged and is not stored` })
  }
  return findings.slice(0, 10)
}
