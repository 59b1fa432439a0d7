import { noCounts, type CountsByHandler, type HandlerCounts } from '../../handler-counts.ts'
import { runStates, type RunCounts } from '../../port.ts'
import type { Rows } from '../database.ts'
import { state } from '../progress.ts'
import { createKept } from './kept.ts'
import type { CountLimits } from './table-count.ts'

interface CountRow {
  readonly handlerId: number
  readonly state: number
  readonly count: number
  readonly oldest: number
}

type Part = CountRow & { readonly lastKey: string | null; readonly lastId: number }

const fewRuns: CountLimits = { few: 20_000, perStatement: 50_000 }

const isOpen = `state < 5 AND state < ${state.held}`
const isDead = 'state >= 4 AND state <= 5'
const columns = `handler_id AS "handlerId", state, count(*) AS count, min(id) AS oldest`
// Ordered as the indexes are: so these are read, and nothing but them. Both in one statement: no run is in neither, or in both.
const first = `SELECT ${columns} FROM (
    SELECT handler_id, state, id FROM inbox.run WHERE ${isOpen} ORDER BY handler_id, replay_id, key, id LIMIT $1::integer
  ) open GROUP BY handler_id, state
  UNION ALL SELECT ${columns} FROM (
    SELECT handler_id, state, id FROM inbox.run WHERE ${isDead} ORDER BY id LIMIT $1::integer
  ) dead GROUP BY handler_id, state`

const nextGeneration = `SELECT handler_id AS "handlerId", replay_id AS "replayId" FROM inbox.run
  WHERE state < 5 AND (handler_id, replay_id) > ($1::integer, $2::integer) ORDER BY handler_id, replay_id LIMIT 1`
const ofGeneration = `SELECT handler_id, state, key, id FROM inbox.run
  WHERE ${isOpen} AND handler_id = $2::integer AND replay_id = $3::integer`
const withKey = summed(
  `${ofGeneration} AND (key, id) > ($4, $5::bigint) ORDER BY handler_id, replay_id, key, id`,
  'key DESC, id DESC',
)
const withoutKey = summed(
  `${ofGeneration} AND key IS NULL AND id > $4::bigint ORDER BY handler_id, replay_id, key, id`,
  'id DESC',
)
const dead = summed(
  `SELECT handler_id, state, NULL::text AS key, id FROM inbox.run WHERE ${isDead} AND id > $2::bigint ORDER BY id`,
  'id DESC',
)

/**
 * Counts the runs that are open or dead, by handler and state, from their indexes alone. Few are counted anew each time; of more, what
 * was counted last is given for some time. They are counted in parts, each of which takes a moment: a statement that goes on for long
 * would keep the database from cleaning up.
 */
export function createRunCounts(
  db: Rows,
  { few, perStatement }: CountLimits = fewRuns,
): () => Promise<CountsByHandler> {
  const manyOpen = createKept(countOpen)
  const manyDead = createKept(countDead)

  async function countOpen(): Promise<CountRow[]> {
    const all: CountRow[] = []
    let place = await generationBehind(0, -1)
    while (place !== undefined) {
      const { handlerId, replayId } = place
      await countParts(all, withoutKey, (last) => [handlerId, replayId, last?.lastId ?? 0])
      await countParts(all, withKey, (last) => [handlerId, replayId, last?.lastKey ?? '', last?.lastId ?? 0])
      place = await generationBehind(handlerId, replayId)
    }
    return all
  }

  async function generationBehind(handlerId: number, replayId: number) {
    const [row] = await db.query<{ handlerId: number; replayId: number }>(nextGeneration, [handlerId, replayId])
    return row
  }

  async function countDead(): Promise<CountRow[]> {
    const all: CountRow[] = []
    await countParts(all, dead, (last) => [last?.lastId ?? 0])
    return all
  }

  async function countParts(all: CountRow[], text: string, valuesBehind: (last: Part | undefined) => unknown[]) {
    let last: Part | undefined
    do {
      const rows: Part[] = await db.query<Part>(text, [perStatement, ...valuesBehind(last)])
      all.push(...rows)
      last = totalOf(rows) === perStatement ? rows[0] : undefined
    } while (last !== undefined)
  }

  return async () => {
    const rows = await db.query<CountRow>(first, [few + 1])
    const open = rows.filter((row) => row.state < state.held)
    const gone = rows.filter((row) => row.state >= state.held)
    return byHandler([
      ...(totalOf(open) > few ? await manyOpen() : open),
      ...(totalOf(gone) > few ? await manyDead() : gone),
    ])
  }
}

/** Sums up the first `$1` runs of a selection, with the last of them. */
function summed(selection: string, lastFirst: string): string {
  return `WITH part AS MATERIALIZED (${selection} LIMIT $1::integer),
    place AS (SELECT key, id FROM part ORDER BY ${lastFirst} LIMIT 1)
    SELECT ${columns}, (SELECT p.key FROM place p) AS "lastKey", (SELECT p.id FROM place p) AS "lastId"
    FROM part GROUP BY handler_id, state`
}

function totalOf(rows: readonly CountRow[]): number {
  return rows.reduce((total, { count }) => total + count, 0)
}

function byHandler(rows: readonly CountRow[]): CountsByHandler {
  const counts = new Map<number, { -readonly [K in keyof HandlerCounts]: HandlerCounts[K] }>()
  for (const { handlerId, state: code, count, oldest } of rows) {
    const own = counts.get(handlerId) ?? { ...noCounts }
    counts.set(handlerId, own)
    const name = runStates[code]
    if (name !== undefined && name in own) own[name as keyof RunCounts] += count
    if (code < state.held) own.oldestRun = Math.min(own.oldestRun, oldest)
  }
  return counts
}
