import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import {
  maxDeadGroups,
  maxDeadIds,
  type DeadFilter,
  type DeadLetter,
  type InboxStats,
  type QueryStore,
} from '../inbox/port.ts'
import { bulkBody, errorGroup as group, page, reason, text } from './parse.ts'
import { numberOf, route } from './route.ts'
import { component, count, listOf, runError, time, toPage, toWire } from './wire.ts'

const deadLetter = component('DeadLetter', {
  run_id: z.int(),
  event_id: z.string(),
  type: z.string(),
  handler: z.string(),
  attempt: count,
  crashed: count,
  died_at: time,
  held: z.boolean().describe('true if it blocks its key'),
  error: runError,
})
const deadLetterList = listOf('DeadLetterList', deadLetter)

const deadGroups = component('DeadGroups', {
  data: z.array(
    z.object({
      handler: z.string(),
      group: z.string().describe('error without numbers and addresses, and top frame: a filter'),
      frame: z.string().nullable().describe('the top frame in `group`; null without one'),
      count,
      held: count,
      first_died_at: time,
      last_died_at: time,
      sample: deadLetter.describe('the latest run'),
    }),
  ),
  complete: z.boolean().describe(`false: there are more than ${maxDeadGroups} groups`),
})

const complete = z.boolean().describe(`false: there are more than ${maxDeadIds} matches; repeat the call`)
const requeued = component('Requeued', { requeued: count, complete, dry_run: z.literal(true).optional() })
const dropped = component('Dropped', { dropped: count, complete, dry_run: z.literal(true).optional() })

export type DeadLetterJson = z.output<typeof deadLetter>
export type DeadGroupsJson = z.output<typeof deadGroups>
export type RequeuedJson = z.output<typeof requeued>
export type DroppedJson = z.output<typeof dropped>

const filterParameters = { handler: text('the name of a handler'), type: text('an event type') }

const runIds = z.array(z.int().min(1)).min(1).max(10_000)
const filter = z
  .strictObject({ ...filterParameters, group })
  .refine((given) => Object.keys(given).length > 0)
  .meta({ minProperties: 1 })
const selections =
  '{"run_ids": [1, 2]} with the numbers of runs, {"all": true}, or {"filter": {"handler", "type", "group"}} with at least one of these'

const requeueBody = bulkBody(selections, { run_ids: runIds }, filter, {})
const dropBody = bulkBody(selections, { run_ids: runIds }, filter, { reason })

interface Selection {
  readonly run_ids?: readonly number[]
  readonly all?: true
  readonly filter?: DeadFilter
}

export const deadLetterRoutes = {
  listDeadLetters: route({
    at: 'GET /dead-letters',
    summary: 'List dead letters, newest first',
    query: z.strictObject({ ...filterParameters, group, ...page }),
    gives: deadLetterList,
    answer: async ({ inbox }, { query }) => toPage(await inbox.deadLetters(query), toDeadLetterJson),
  }),
  groupDeadLetters: route({
    at: 'GET /dead-letters/groups',
    summary: 'Group dead letters by handler, error and top frame, largest group first',
    query: z.strictObject(filterParameters),
    gives: deadGroups,
    async answer({ inbox }, { query }) {
      const { groups, isComplete } = await inbox.deadGroups(query)
      const data = groups.map(({ sample, ...row }) => ({ ...toWire(row), sample: toDeadLetterJson(sample) }))
      return { data, complete: isComplete }
    },
  }),
  getDeadLetter: route({
    at: 'GET /dead-letters/:id',
    param: { name: 'run_id', description: 'The number of the run.' },
    summary: 'Show a dead letter with its last error',
    gives: deadLetter,
    async answer({ inbox }, { id }) {
      const runId = numberOf(id)
      const found = runId === null ? null : await inbox.deadLetter(runId)
      if (found === null) throw new InboxError('not_found', 'there is no dead letter with this number')
      return toDeadLetterJson(found)
    },
  }),
  requeueDeadLetters: route({
    at: 'POST /dead-letters/requeue',
    summary: 'Requeue dead letters with their attempts reset',
    body: requeueBody,
    gives: requeued,
    logged: 'dead letters requeued',
    async answer({ inbox }, { body: { dryRun: isDry, ...selection }, by }) {
      const { runs, found, isComplete } = await resolve(inbox, selection, isDry)
      if (isDry) return { requeued: found, complete: isComplete, dry_run: true as const }
      return { requeued: runs.length === 0 ? 0 : await inbox.requeueDead(runs, by), complete: isComplete }
    },
  }),
  dropDeadLetters: route({
    at: 'POST /dead-letters/drop',
    summary: 'Drop dead letters for good and unblock their keys',
    body: dropBody,
    gives: dropped,
    logged: 'dead letters dropped',
    async answer({ inbox }, { body: { dryRun: isDry, reason: why, ...selection }, by }) {
      const { runs, found, isComplete } = await resolve(inbox, selection, isDry)
      if (isDry) return { dropped: found, complete: isComplete, dry_run: true as const }
      return { dropped: runs.length === 0 ? 0 : await inbox.dropDead(runs, why, by), complete: isComplete }
    },
  }),
}

/** Dead letters of all handlers. */
export function deadLettersOf({ handlers }: InboxStats): number {
  return handlers.reduce((sum, { dead, held }) => sum + dead + held, 0)
}

function toDeadLetterJson({ error, ...rest }: DeadLetter): DeadLetterJson {
  return { ...toWire(rest), error: { ...error, stack: error.stack ?? null } }
}

/** Looks up the run ids of a filter first, so that the action itself is one. `found` counts only if `isDry`. */
async function resolve(inbox: QueryStore, selection: Selection, isDry: boolean) {
  if (selection.filter !== undefined) {
    const { runIds: runs, isComplete } = await inbox.deadRunIds(selection.filter)
    return { runs, found: runs.length, isComplete }
  }
  const runs: 'all' | readonly number[] = selection.run_ids ?? 'all'
  return { runs, found: isDry ? await countOf(inbox, runs) : 0, isComplete: true }
}

const lookupSize = 200

async function countOf(inbox: QueryStore, runs: 'all' | readonly number[]): Promise<number> {
  if (runs === 'all') return deadLettersOf(await inbox.stats())
  const ids = [...new Set(runs)]
  let found = 0
  for (let from = 0; from < ids.length; from += lookupSize) {
    const rows = await Promise.all(ids.slice(from, from + lookupSize).map((id) => inbox.deadLetter(id)))
    found += rows.filter((one) => one !== null).length
  }
  return found
}
