import { z } from 'zod'
import { count, time } from './common.ts'

export const shut = z.object({
  since: time,
  until: time.describe('when something is sent again, or one item is tried'),
  reason: z.enum(['breaker', 'pause']),
  failures: count.describe('sends that failed in a row'),
  error: z.string().nullable(),
})

/** How attempts of a handler went, in this process. */
export const handlerPace = z.object({
  per_second: z.number().min(0).describe('attempts that ended, over the last minute'),
  failures_per_second: z.number().min(0),
  p50_ms: z.number().nullable().describe('of the attempts of the last five minutes; null: there were none'),
  p95_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
})

export const handler = z.object({
  name: z.string(),
  kind: z.enum(['handler', 'sink']).nullable().describe('null: it is not loaded'),
  loaded: z.boolean(),
  paused: z.boolean(),
  settings: z
    .object({
      types: z.array(z.string()),
      order: z.enum(['key', 'none']),
      key: z.array(z.string()).nullable(),
      concurrency: z.int().min(1).describe('the one in force'),
      own_concurrency: z.int().min(1).describe('what the handler says itself'),
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
        .describe('null: a function decides'),
      file: z.string(),
    })
    .nullable(),
  set_concurrency: z.int().nullable().describe('what somebody set; null: as it says itself'),
  shut: shut.nullable().describe('why a sink is left alone; null: it is not'),
  backfill: z.number().nullable(),
  waiting: count,
  ready: count,
  suspect: count,
  running: count,
  held: count,
  dead: count,
  superseded: count,
  pace: handlerPace.nullable().describe('null: it is not loaded'),
})
export const handlerList = z.object({
  paused: z.boolean().describe('whether all are paused together'),
  data: z.array(handler),
  next_cursor: z.null(),
})

export const pausedAnswer = z.object({ handler: z.string().nullable(), paused: z.boolean() })
export const concurrencyAnswer = z.object({ handler: z.string(), concurrency: z.int().nullable() })
export const droppedRuns = z.object({ handler: z.string(), dropped: count })

export type ShutJson = z.output<typeof shut>
export type PausedJson = z.output<typeof pausedAnswer>
export type ConcurrencyJson = z.output<typeof concurrencyAnswer>
export type DroppedRunsJson = z.output<typeof droppedRuns>
export type HandlerJson = z.output<typeof handler>
export type HandlerListJson = z.output<typeof handlerList>
export type HandlerPaceJson = z.output<typeof handlerPace>
