import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { maxReplayIds, replayStates, type ReplayRecord, type QueryStore } from '../inbox/port.ts'
import { safeText } from '../base/log.ts'
import { eventFilter, pageParameters } from './parse.ts'
import { numberOf, route, type AdminContext } from './route.ts'
import { component, count, isoTime, listOf, time, toPage, toWire } from './wire.ts'

const replay = component('Replay', {
  id: z.int(),
  state: z.enum(replayStates),
  filter: z.record(z.string(), z.unknown()),
  per_second: z.number().nullable(),
  new_keys: z.boolean(),
  created_at: time,
  ended_at: time.nullable(),
  progress: z
    .number()
    .min(0)
    .max(1)
    .describe('share of the stored events that are searched, times that of its runs that have ended'),
  events: count,
  runs: count,
  skipped: count.describe('events without bodies: pruned'),
  open_runs: count,
})
const replayList = listOf('ReplayList', replay)
const replayCount = component('ReplayCount', { dry_run: z.literal(true), events: count, skipped: count })
const cancelledReplay = component('CancelledReplay', {
  ...replay.shape,
  cancelled: z.boolean().describe('true if this call cancelled it'),
})

export type ReplayJson = z.output<typeof replay>
export type ReplayCountJson = z.output<typeof replayCount>

const replayBody = z
  .strictObject({
    ids: z
      .exactOptional(z.array(z.string().min(1).max(300)).min(1).max(maxReplayIds))
      .describe(`a list of 1 to ${maxReplayIds} event ids`),
    ...eventFilter,
    handler: z.exactOptional(z.string().min(1).max(100)).describe('the name of a handler'),
    dryRun: z.boolean().default(false),
    per_second: z
      .number()
      .positive()
      .max(100_000)
      .nullable()
      .default(null)
      .describe('a number of runs per second above 0, at most 100000'),
    new_keys: z.boolean().default(false),
  })
  .describe(
    'a filter of at least one of ids (a list of at most 1000), type, network, address, status, from, to (ISO 8601), handler; ' +
      'optionally dryRun, per_second (a number), new_keys',
  )

const replayId = { name: 'id', description: 'The number of the replay.' }
const maxNamedIds = 20

export const replayRoutes = {
  listReplays: route({
    at: 'GET /replays',
    summary: 'List replays, newest first',
    query: pageParameters,
    gives: replayList,
    answer: async ({ inbox }, { query }) => toPage(await inbox.replays(query), toReplayJson),
  }),
  startReplay: route({
    at: 'POST /replays',
    summary: 'Replay the events that a filter matches, or count them',
    body: replayBody,
    gives: z.union([replay, replayCount]),
    errors: ['not_found'],
    logged: 'replay started',
    async answer({ inbox }, { body, by }) {
      const { dryRun, per_second: perSecond, new_keys: newKeys, ...filter } = body
      await checkIds(inbox, filter.ids ?? [])
      if (dryRun) return { dry_run: true as const, ...(await inbox.countReplay(filter)) }
      return toReplayJson(await inbox.startReplay({ filter, perSecond, newKeys }, by))
    },
  }),
  getReplay: route({
    at: 'GET /replays/:id',
    param: replayId,
    summary: 'Show the progress of a replay',
    gives: replay,
    answer: async (context, { id }) => toReplayJson(await findReplay(context, id)),
  }),
  cancelReplay: route({
    at: 'POST /replays/:id/cancel',
    param: replayId,
    summary: 'Cancel a replay that has not ended',
    gives: cancelledReplay,
    logged: 'replay cancelled',
    async answer(context, { id, by }) {
      const record = await findReplay(context, id)
      const cancelled = await context.inbox.cancelReplay(record.id, by)
      context.onRecall?.(null)
      return { ...toReplayJson(await findReplay(context, id)), cancelled }
    },
  }),
}

async function findReplay({ inbox }: AdminContext, id: string): Promise<ReplayRecord> {
  const number = numberOf(id)
  const record = number === null ? null : await inbox.replay(number)
  if (record === null) throw new InboxError('not_found', 'there is no replay with this id')
  return record
}

async function checkIds(inbox: QueryStore, ids: readonly string[]): Promise<void> {
  const unknown = [...new Set(await inbox.unknownIds(ids))]
  if (unknown.length === 0) return
  const named = unknown.slice(0, maxNamedIds).map((id) => safeText(id))
  const others = unknown.length > maxNamedIds ? ` and ${unknown.length - maxNamedIds} more` : ''
  const what = unknown.length === 1 ? 'there is no event with the id' : 'there are no events with the ids'
  throw new InboxError('not_found', `${what} ${named.join(', ')}${others}; nothing was started`)
}

function toReplayJson({ filter, scannedSeq, lastSeq, ...row }: ReplayRecord): ReplayJson {
  const { from, to, ...rest } = filter
  const times = { ...(from !== undefined && { from: isoTime(from) }), ...(to !== undefined && { to: isoTime(to) }) }
  const searched = lastSeq === 0 ? 1 : scannedSeq / lastSeq
  const ended = row.runs === 0 ? 1 : (row.runs - row.openRuns) / row.runs
  return { ...toWire(row), filter: { ...rest, ...times }, progress: searched * ended }
}
