import { z } from 'zod'
import type { EventOf, EventType } from '../../schema/index.ts'
import { InboxError } from '../errors.ts'
import type { Logger } from '../log.ts'

type Family<T extends string> = T extends `${infer Prefix}.${string}` ? Prefix : never

/** A type, a prefix such as `wallet.*`, or `*`. Types that are not documented yet are allowed (R127). */
export type EventPattern = EventType | `${Family<EventType>}.*` | '*' | (string & {})

/** Which events a handler takes: a pattern or a list of them. */
export type EventSelector = EventPattern | readonly EventPattern[]

/** How failed attempts are repeated: the wait starts at `baseMs` and doubles up to `capMs`, with half jitter. */
export interface RetryOptions {
  /** How often a run is tried in all before it goes to the dead letters. */
  readonly attempts?: number
  readonly baseMs?: number
  readonly capMs?: number
}

/**
 * The event as a handler gets it (R92–R102). Its type follows the handler's `type`. A prefix such as `wallet.*` also
 * takes types that are added under it later (R127), which are not among its static types: keep a default branch.
 */
export type HandlerEvent<P extends EventSelector> = EventOf<P> & {
  /** The exact bytes that were signed. Shared between handlers: not to be changed. */
  readonly raw: Uint8Array
  /** A number as the sender wrote it, every digit kept: `event.exact('data.amount_usd')`. See `createExactReader`. */
  exact(path: string): string | undefined
}

export interface HandlerContext {
  /**
   * Aborted when `timeoutMs` has passed or the process stops. Pass it on to what can be cancelled. An attempt that was aborted
   * is tried again, however it ends.
   */
  readonly signal: AbortSignal
  /** Which attempt this is, from 1. */
  readonly attempt: number
  /** The same on every attempt and replay of this event for this handler. */
  readonly idempotencyKey: string
  readonly log: Logger
}

export interface HandlerDefinition<P extends EventSelector> {
  /** A type, a list of types, a prefix such as `wallet.*`, or `*`. */
  readonly type: P
  /** Must tolerate repeats. Throw TerminalError to give up, RetryableError to choose the wait, anything else to retry. */
  run(event: HandlerEvent<P>, ctx: HandlerContext): void | Promise<void>
  /** Default: the name of the file without its extension. */
  readonly name?: string
  /** `key` (default): the events of one address one at a time, oldest first. `none`: no order. */
  readonly order?: 'key' | 'none'
  /** How many runs of this handler at once. Default 8. */
  readonly concurrency?: number
  /** How long one attempt may take, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number
  readonly retry?: RetryOptions
}

/** A handler that was checked, with nothing left out. */
export interface ResolvedHandler {
  readonly name: string
  readonly types: readonly string[]
  readonly order: 'key' | 'none'
  readonly concurrency: number
  readonly timeoutMs: number
  readonly retry: Readonly<Required<RetryOptions>>
  readonly run: (event: HandlerEvent<'*'>, ctx: HandlerContext) => void | Promise<void>
  /** Where it was defined. */
  readonly file: string
}

/** What a handler has where it says nothing else. */
export const handlerDefaults = Object.freeze({
  order: 'key',
  concurrency: 8,
  timeoutMs: 30_000,
  retry: Object.freeze({ attempts: 10, baseMs: 1000, capMs: 600_000 }),
} as const)

/**
 * Defines a handler: gives `run` the event type that follows from `type` (R93–R102) and returns the definition frozen.
 * It is checked when it is loaded.
 *
 * @example
 * export default defineHandler({
 *   type: 'wallet.large_trade',
 *   run(event, ctx) {
 *     ctx.log.info({ amountUsd: event.data.amount_usd }, 'large trade')
 *   },
 * })
 */
export function defineHandler<const P extends EventSelector>(
  definition: HandlerDefinition<P>,
): Readonly<HandlerDefinition<P>> {
  return Object.freeze(definition)
}

const longestTimerMs = 2 ** 31 - 1
const count = z.int().min(1)
const milliseconds = z.int().min(1).max(longestTimerMs)

const patternHint = "expected a type such as 'wallet.large_trade', a prefix such as 'wallet.*', '*', or a list of these"
const isPattern = (text: string): boolean => text === '*' || !text.replace(/(?<=[^.])\.\*$/, '').includes('*')
const pattern = z.string(patternHint).min(1, patternHint).max(255).refine(isPattern, patternHint)

const retrySchema = z
  .strictObject({
    attempts: count.default(handlerDefaults.retry.attempts),
    baseMs: milliseconds.default(handlerDefaults.retry.baseMs),
    capMs: milliseconds.default(handlerDefaults.retry.capMs),
  })
  .refine((retry) => retry.capMs >= retry.baseMs, { path: ['capMs'], error: 'expected at least `baseMs`' })

const definitionSchema = z.strictObject({
  type: z.preprocess(
    (type) => (typeof type === 'string' ? [type] : type),
    z.array(pattern, patternHint).min(1, patternHint),
  ),
  run: z.custom<ResolvedHandler['run']>((value) => typeof value === 'function', 'expected a function'),
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
      'expected 1 to 100 letters, digits, dots, dashes or underscores (where no name is given, the file name is it)',
    ),
  order: z.enum(['key', 'none']).default(handlerDefaults.order),
  concurrency: count.default(handlerDefaults.concurrency),
  timeoutMs: milliseconds.default(handlerDefaults.timeoutMs),
  retry: retrySchema.prefault({}),
})

/**
 * Checks the default export of a handler file and fills in the defaults. Throws InboxError `handler_invalid` that lists
 * every problem. `where` names the file, `fallbackName` the handler if it has no name of its own.
 */
export function parseHandler(value: unknown, where: string, fallbackName: string): ResolvedHandler {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const received = value === undefined ? 'no default export' : Array.isArray(value) ? 'a list' : nameOfType(value)
    throw invalid(where, [`expected \`export default defineHandler({ type, run })\`, received ${received}`])
  }
  const result = definitionSchema.safeParse({
    ...value,
    name: ('name' in value ? value.name : undefined) ?? fallbackName,
  })
  if (!result.success) throw invalid(where, [...new Set(result.error.issues.map(describeIssue))])
  const { type, run, ...options } = result.data
  return Object.freeze({ ...options, types: [...new Set(type)], run: run.bind(value), file: where })
}

function nameOfType(value: unknown): string {
  return value === null ? 'null' : `a ${typeof value}`
}

function invalid(where: string, problems: readonly string[]): InboxError {
  return new InboxError('handler_invalid', `${where} is not a usable handler: ${problems.join('; ')}`, {
    details: { file: where, problems },
  })
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const option = issue.path[0] === 'type' ? 'type' : issue.path.join('.')
  const place = option === '' ? '' : `${option}: `
  if (issue.code !== 'unrecognized_keys') return `${place}${issue.message}`
  const known = Object.keys(option === 'retry' ? retrySchema.shape : definitionSchema.shape)
  return `${place}unknown option ${issue.keys.map((key) => `\`${key}\``).join(', ')}, known are ${known.join(', ')}`
}
