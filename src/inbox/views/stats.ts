import type { InboxStats, ViewPort } from '../port.ts'
import { createKept, createRunCounts, noCounts } from './counts.ts'
import { turn, type ViewStore } from './tables.ts'

/** A table with more rows is not counted with each call. */
const fewRows = 5_000
const isLarge = (count: number) => count > fewRows

/** Counts for people and metrics. */
export function createStats(store: ViewStore, { quarantineGroups }: Pick<ViewPort, 'quarantineGroups'>) {
  const { db } = store
  const runCounts = createRunCounts(store)
  const conflicts = createKept(countConflicts, isLarge)
  const quarantined = createKept(async () => {
    return (await quarantineGroups()).reduce((total, { count }) => total + count, 0)
  }, isLarge)

  /** In parts, along an index. */
  async function countConflicts(): Promise<number> {
    let total = 0
    for (let behind: readonly [number, number, string] | null = [-1, 0, '']; behind !== null; await turn()) {
      const last: Awaited<ReturnType<typeof conflictsBehind>> = await conflictsBehind(...behind)
      total += last?.count ?? 0
      behind = last?.count === fewRows ? [last.received_at, last.event_seq, last.digest] : null
    }
    return total
  }

  /** The last of the next conflicts, and how many they are. */
  function conflictsBehind(at: number, seq: number, digest: string) {
    return db
      .with(
        (cte) => cte('part').materialized(),
        (of) =>
          of
            .selectFrom('conflict')
            .select(['received_at', 'event_seq', 'digest'])
            .where((eb) => eb(eb.refTuple('received_at', 'event_seq', 'digest'), '>', eb.tuple(at, seq, digest)))
            .orderBy('received_at')
            .orderBy('event_seq')
            .orderBy('digest')
            .limit(fewRows),
      )
      .selectFrom('part')
      .select([
        'received_at',
        'event_seq',
        'digest',
        (eb) => eb.selectFrom('part').select(eb.fn.countAll<number>().as('n')).as('count'),
      ])
      .orderBy('received_at', 'desc')
      .orderBy('event_seq', 'desc')
      .orderBy('digest', 'desc')
      .limit(1)
      .executeTakeFirst()
  }

  async function receivedAtOf(runId: number): Promise<number | null> {
    const row = await db
      .selectFrom('run')
      .where('run.id', '=', runId)
      .select((eb) =>
        eb.selectFrom('event').select('event.received_at').whereRef('event.seq', '=', 'run.event_seq').as('at'),
      )
      .executeTakeFirst()
    return row?.at ?? null
  }

  return {
    async stats(): Promise<InboxStats> {
      const newest = await db.selectFrom('event').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
      const meta = await db
        .selectFrom('meta')
        .select(['name', 'value'])
        .where('name', 'in', ['paused', 'missing_seqs'])
        .execute()
      const metaOf = (name: string) => meta.find((row) => row.name === name)?.value ?? 0
      const handlers = await db
        .selectFrom('handler')
        .select(['id', 'name as handler', 'paused', 'concurrency', 'superseded', 'backfill_seq as backfillSeq'])
        .orderBy('name')
        .execute()
      const counts = await runCounts()
      const oldestRun = Math.min(...[...counts.values()].map((own) => own.oldestRun))
      return {
        lastSeq: newest?.seq ?? 0,
        quarantined: await quarantined(),
        conflicts: await conflicts(),
        paused: metaOf('paused') === 1,
        handlers: handlers.map(({ id, paused, ...handler }) => {
          const { oldestRun: _, ...own } = counts.get(id) ?? noCounts
          return { ...handler, paused: Boolean(paused), ...own }
        }),
        oldestOpenAt: oldestRun === Infinity ? null : await receivedAtOf(oldestRun),
        sizeBytes: await store.sizeBytes(),
        missingSeqs: metaOf('missing_seqs'),
      }
    },
  }
}
