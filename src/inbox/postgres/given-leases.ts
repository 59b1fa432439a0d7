import type { Arrival, Lease, NewEvent } from '../port.ts'
import type { AcceptedRow, PlannedRun } from './accept-values.ts'
import { numbersIn } from './arrays.ts'

/** The leases that an accept gave to claims, by the ids of the claims: what they carry is what was accepted. */
export function givenLeases(
  batch: readonly Arrival[],
  runs: readonly PlannedRun[],
  row: AcceptedRow,
): ReadonlyMap<number, readonly Lease[]> {
  const leases = new Map<number, Lease[]>()
  const places = numbersIn(row.givenAt)
  if (places.length === 0) return leases
  const runIds = numbersIn(row.givenRuns)
  const claimIds = numbersIn(row.givenClaims)
  const seqs = seqsOf(row)
  for (const [index, place] of places.entries()) {
    const run = runs[place - 1]
    const event = run && batch[run.at - 1]
    if (run === undefined || event?.kind !== 'event') continue
    const claimId = claimIds[index] ?? 0
    const mine = leases.get(claimId) ?? []
    mine.push(toLease(run, event, runIds[index] ?? 0, seqs[run.at - 1] ?? 0))
    leases.set(claimId, mine)
  }
  return leases
}

/** The numbers of what was accepted, by its place in the batch. */
function seqsOf({ results, lastBefore }: AcceptedRow): (number | null)[] {
  let last = lastBefore
  return Array.from(results, (letter) => (letter === 'a' ? ++last : null))
}

function toLease({ handler, key }: PlannedRun, event: NewEvent, runId: number, seq: number): Lease {
  const { id, type, createdAt, receivedAt, key: eventKey, secretLabel, raw, trace = null } = event
  // Handlers may do with it what they like, and each has its own.
  const own = Buffer.from(raw)
  return {
    runId,
    token: 1,
    handler,
    attempt: 1,
    failed: 0,
    crashed: 0,
    event: { seq, id, type, createdAt, receivedAt, key: eventKey, secretLabel, raw: own, trace },
    key,
    replay: null,
    item: null,
  }
}
