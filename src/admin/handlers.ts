import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { orphanedHandlers, type QueryStore } from '../inbox/port.ts'
import { reason } from './parse.ts'
import { route, type AdminContext } from './route.ts'
import { component, count, time, toFields } from './wire.ts'

export const shut = component('Shut', {
  since: time,
  until: time.describe('when the next item is sent'),
  reason: z.enum(['breaker', 'pause']),
  failures: count.describe('consecutive failed sends'),
  error: z.string().nullable(),
})

const handlerPace = component('HandlerPace', {
  per_second: z.number().min(0).describe('ended attempts over the last minute'),
  error_rate: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('share of failed attempts of the last five minutes, else of the latest ones; null: none since the start'),
  p50_ms: z.number().nullable().describe('over the last five minutes; null: no attempts'),
  p95_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
  series: z.array(count).describe('ended attempts per ten seconds of the last five minutes, oldest first'),
  last_error: z
    .object({ at: time, name: z.string(), message: z.string() })
    .nullable()
    .describe('latest failed attempt of the same time'),
})

const handlerSettings = z.object({
  types: z.array(z.string()),
  order: z.enum(['key', 'none']),
  key: z.array(z.string()).nullable(),
  concurrency: z.int().min(1).describe('the current one'),
  own_concurrency: z.int().min(1).describe('as defined'),
  rate: z.unknown(),
  priority: z.number(),
  timeout_ms: z.number(),
  on_dead: z.enum(['skip', 'hold']),
  latest_only: z.boolean(),
  isolate: z.boolean(),
  max_age_ms: z.number().nullable(),
  retry: z
    .object({ attempts: z.number(), base_ms: z.number(), cap_ms: z.number() })
    .nullable()
    .describe('null: a function'),
  file: z.string(),
})

const handler = component('Handler', {
  name: z.string(),
  kind: z.enum(['handler', 'sink']).nullable().describe('null: not loaded'),
  loaded: z.boolean().describe('true if the process that answers has loaded it'),
  orphaned: z.boolean().describe('it has open runs, and no process has loaded it'),
  paused: z.boolean(),
  settings: handlerSettings.nullable(),
  set_concurrency: z.int().nullable().describe('set by an operator; null: as defined'),
  shut: shut.nullable().describe('why a sink sends nothing; null: it sends'),
  backfill: z.number().nullable(),
  waiting: count,
  ready: count,
  suspect: count,
  running: count,
  held: count,
  dead: count,
  superseded: count,
  oldest_open_at: time.nullable().describe('when the event of its oldest open run was received'),
  pace: handlerPace.nullable().describe('null: not loaded'),
})
const handlerList = component('HandlerList', {
  paused: z.boolean().describe('true if all handlers are paused'),
  data: z.array(handler),
  next_cursor: z.null(),
})

const tried = component('Tried', {
  handler: z.string(),
  result: z.enum(['sent', 'failed', 'idle', 'closed', 'unanswered']),
  error: z.string().nullable().describe('why it failed'),
})
const paused = component('Paused', {
  handler: z.string().nullable(),
  paused: z.boolean(),
  shut: shut.nullable().describe('why the sink sends nothing all the same; null: it sends, or several were meant'),
})
const concurrencySet = component('Concurrency', { handler: z.string(), concurrency: z.int().nullable() })
const droppedRuns = component('DroppedRuns', { handler: z.string(), dropped: count })

export type ShutJson = z.output<typeof shut>
export type TriedJson = z.output<typeof tried>
export type HandlerJson = z.output<typeof handler>
export type HandlerListJson = z.output<typeof handlerList>

const handlerBody = z
  .strictObject({ concurrency: z.int().min(1).max(10_000).nullable() })
  .describe('{"concurrency": 4}, a whole number from 1 to 10000, or null for the one in its definition')
const dropBody = z.strictObject({ reason }).describe('{"reason": "…"} of 1 to 500 characters')

const name = { name: 'name', description: 'The name of a handler.' }

export const handlerRoutes = {
  listHandlers: route({
    at: 'GET /handlers',
    summary: 'List handlers and sinks with their settings, open runs and pace',
    gives: handlerList,
    answer: (context) => listHandlers(context),
  }),
  changeHandler: route({
    at: 'PATCH /handlers/:id',
    param: name,
    summary: 'Set the concurrency of a handler',
    body: handlerBody,
    gives: concurrencySet,
    logged: 'handler changed',
    async answer({ inbox, onConcurrency }, { id, body: { concurrency }, by }) {
      if (!(await inbox.setConcurrency(id, concurrency, by))) throw await noHandler(inbox, id)
      onConcurrency?.(id, concurrency)
      return { handler: id, concurrency }
    },
  }),
  dropHandlerRuns: route({
    at: 'POST /handlers/:id/drop',
    param: name,
    summary: 'Drop all open runs of a handler that was removed',
    body: dropBody,
    gives: droppedRuns,
    logged: 'handler runs dropped',
    async answer({ inbox }, { id, body, by }) {
      const dropped = await inbox.discardPendingRuns(id, body.reason, by)
      if (dropped === null) throw await noHandler(inbox, id)
      return { handler: id, dropped }
    },
  }),
  tryHandler: route({
    at: 'POST /handlers/:id/try',
    param: name,
    summary: 'Send one item of a sink whose breaker is open',
    gives: tried,
    logged: 'a sink was tried by the admin API',
    async answer({ inbox, trySink }, { id, by }) {
      if (trySink === undefined)
        throw new InboxError('not_found', 'no running process has this sink: start `serve`, then repeat the command')
      const stats = await inbox.stats()
      if (stats.paused || stats.handlers.some((row) => row.handler === id && row.paused))
        throw new InboxError('bad_request', `${id} is paused: resume it, then try`)
      return { handler: id, ...(await trySink(id, by)) }
    },
  }),
  pauseHandler: pauseRoute('POST /handlers/:id/pause', 'Pause a handler', true),
  resumeHandler: pauseRoute('POST /handlers/:id/resume', 'Resume a handler', false),
  pauseAll: pauseRoute('POST /pause', 'Pause all handlers; events are still accepted', true),
  resumeAll: pauseRoute('POST /resume', 'Resume all handlers, except individually paused ones', false),
}

function pauseRoute(at: `POST /${string}`, summary: string, isPaused: boolean) {
  const isOne = at.includes(':id')
  return route({
    group: 'handlers',
    at,
    ...(isOne && { param: name }),
    summary,
    gives: paused,
    logged: 'handlers paused or resumed',
    async answer({ inbox, onRecall, onResume, openBreakers }, { id, by }) {
      const which = isOne ? id : null
      if (!(await inbox.setPaused(which, isPaused, by))) throw await noHandler(inbox, id)
      if (isPaused) onRecall?.(which)
      else onResume?.()
      const breaker = which === null ? undefined : openBreakers?.().get(which)
      return { handler: which, paused: isPaused, shut: breaker ? toFields(shut, breaker) : null }
    },
  })
}

async function noHandler(inbox: QueryStore, unknownName: string): Promise<InboxError> {
  const names = (await inbox.stats()).handlers.map((row) => row.handler)
  const known = names.length === 0 ? 'none was ever loaded' : `expected one of ${names.join(', ')}`
  return new InboxError('not_found', `there is no handler ${JSON.stringify(unknownName)}: ${known}`)
}

const noRuns = { paused: false, waiting: 0, ready: 0, suspect: 0, running: 0, held: 0, dead: 0, superseded: 0 }

/** Loaded handlers, and earlier ones that the store knows. */
async function listHandlers({ inbox, handlers, openBreakers: shutOf, paces }: AdminContext): Promise<HandlerListJson> {
  const stats = await inbox.stats()
  const rows = new Map(stats.handlers.map((row) => [row.handler, row]))
  const infos = new Map((handlers?.() ?? []).map((info) => [info.name, info]))
  const shutNow = shutOf?.()
  // Without a dispatcher in this process, only a cluster knows the orphaned ones.
  const loaded = handlers?.() ?? [...rows.keys()].map((each) => ({ name: each }))
  const orphans = new Set(orphanedHandlers(stats.handlers, loaded).map((row) => row.handler))
  const names = [...new Set([...infos.keys(), ...rows.keys()])].toSorted()
  const data = names.map((each): HandlerJson => {
    const [info, row] = [infos.get(each), rows.get(each)]
    const backfillSeq = row?.backfillSeq ?? null
    return toFields(handler, {
      ...noRuns,
      ...row,
      name: each,
      kind: info?.kind,
      isLoaded: info !== undefined,
      isOrphaned: orphans.has(each),
      settings:
        info &&
        toFields(handlerSettings, {
          ...info,
          key: info.keyPaths,
          concurrency: row?.concurrency ?? info.concurrency,
          ownConcurrency: info.concurrency,
        }),
      setConcurrency: row?.concurrency,
      shut: shutNow?.get(each),
      backfill: backfillSeq === null ? null : (backfillSeq - 1) / Math.max(stats.lastSeq, 1),
      pace: info && paces?.(each),
    })
  })
  return { paused: stats.paused, data, next_cursor: null }
}
