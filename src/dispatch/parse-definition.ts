import type { ProviderName } from '../../schema/index.ts'
import { z } from 'zod'
import { maxTimerMs } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { eventPatterns, oneOrMore } from '../../schema/event-patterns.ts'
import type { RunContext } from './context.ts'
import {
  handlerDefaults,
  type HandlerDefinition,
  type RetryPolicy,
  type EventSelector,
  type HandlerContext,
  type SourceSelector,
} from './define.ts'
import type { SinkDefinition, SinkContext } from './define-sink.ts'
import { breakerDefaults, CircuitBreaker } from './circuit-breaker.ts'
import { SinkBatchRunner } from './sink-run.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

const count = z.int().min(1)
const milliseconds = z.int().min(1).max(maxTimerMs)

const aFunction = <T>() => z.custom<T>((value) => typeof value === 'function', 'expected a function')

const retryOptions = z
  .strictObject({
    attempts: count.default(handlerDefaults.retry.attempts),
    baseMs: milliseconds.default(handlerDefaults.retry.baseMs),
    capMs: milliseconds.default(handlerDefaults.retry.capMs),
  })
  .refine((retry) => retry.capMs >= retry.baseMs, { path: ['capMs'], error: 'expected at least `baseMs`' })

const pathHint = "expected a path such as 'data.pair', or a list of these"
const path = z
  .string(pathHint)
  .regex(/^[^.]+(\.[^.]+)*$/, pathHint)
  .max(255)
const keyPaths = oneOrMore(path, pathHint).refine((paths) => paths.length <= 8, 'expected at most 8 paths')

const fromHint = "expected 'now', 'beginning', or a time such as '2026-01-31T00:00:00Z'"
const from = z
  .union([z.literal('now'), z.literal('beginning'), z.date(), z.iso.datetime({ offset: true }), z.number()], fromHint)
  .transform((value) => (value === 'now' || value === 'beginning' ? value : new Date(value).getTime()))
  .refine((value) => typeof value === 'string' || Number.isFinite(value), fromHint)

const common = {
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
      'expected 1 to 100 letters, digits, dots, dashes or underscores (default: the file name)',
    ),
  order: z.enum(['key', 'none']).default(handlerDefaults.order),
  concurrency: count.default(handlerDefaults.concurrency),
  rate: z.number().positive().max(100_000).optional(),
  priority: z.int().min(-1_000).max(1_000).default(handlerDefaults.priority),
  timeoutMs: milliseconds.default(handlerDefaults.timeoutMs),
  retry: retryOptions.prefault({}),
  onDead: z.enum(['skip', 'hold']).default(handlerDefaults.onDead),
  from: from.default(handlerDefaults.from),
  isolate: z.boolean().default(handlerDefaults.isolate),
}

const sourceNames = oneOrMore(z.string(), 'expected the name of a source, or a list of these').optional()

const handlerSchema = z.strictObject({
  type: eventPatterns,
  source: sourceNames,
  provider: z.string('expected the name of a provider').optional(),
  run: aFunction<HandlerDefinition<'*'>['run']>(),
  match: aFunction<NonNullable<HandlerDefinition<'*'>['match']>>().optional(),
  key: keyPaths.optional(),
  latestOnly: z.boolean().default(handlerDefaults.latestOnly),
  maxAgeMs: milliseconds.optional(),
  ...common,
})

const breakerSchema = z
  .strictObject({
    failures: count.max(1_000).default(breakerDefaults.failures),
    cooldownMs: milliseconds.default(breakerDefaults.cooldownMs),
    capMs: milliseconds.default(breakerDefaults.capMs),
  })
  .refine(({ cooldownMs, capMs }) => capMs >= cooldownMs, { path: ['capMs'], error: 'expected at least `cooldownMs`' })

const sinkSchema = z.strictObject({
  type: eventPatterns.optional(),
  source: sourceNames,
  match: aFunction<NonNullable<SinkDefinition['match']>>().optional(),
  send: aFunction<SinkDefinition['send']>(),
  batch: count.max(10_000).default(1),
  breaker: breakerSchema.optional(),
  close: aFunction<NonNullable<SinkDefinition['close']>>().optional(),
  ...common,
})

/**
 * Checks the default export of a handler or sink file and fills in the defaults. Throws InboxError `handler_invalid`
 * with every problem. `where` names the file; `fallbackName` is used if the definition has no name.
 */
export function parseDefinition(value: unknown, where: string, fallbackName: string): ResolvedHandler {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const received = value === undefined ? 'no default export' : Array.isArray(value) ? 'a list' : nameOfType(value)
    throw invalid(where, 'handler', [
      `expected \`export default defineHandler({ type, run })\` or \`defineSink({ send })\`, received ${received}`,
    ])
  }
  const named = { ...value, name: ('name' in value ? value.name : undefined) ?? fallbackName }
  return 'send' in value ? parseSink(value, named, where) : parseHandler(value, named, where)
}

function parseHandler(value: object, named: Named, where: string): ResolvedHandler {
  const parsed = parse('handler', handlerSchema, named, where)
  const { type, source: sources, run, match, key, ...options } = parsed
  const problems = contradictions(parsed)
  if (problems.length > 0) throw invalid(where, 'handler', problems)
  return Object.freeze({
    ...options,
    kind: 'handler',
    batch: handlerDefaults.batch,
    types: [...new Set(type)],
    sources,
    keyPaths: key,
    match: match?.bind(value),
    run: (ctx: RunContext) => run.call(value, ctx.event, ctx),
    file: where,
  })
}

type Named = Readonly<Record<string, unknown>>

/** Parses all options. `retry` may also be a function. */
function parse<S extends typeof handlerSchema | typeof sinkSchema>(
  kind: string,
  schema: S,
  named: Named,
  where: string,
) {
  const { retry, ...others } = named
  const policy = typeof retry === 'function' ? { retry: retry as RetryPolicy } : {}
  const result = schema.safeParse(typeof retry === 'function' ? others : named)
  if (!result.success) throw invalid(where, kind, problemsOf(result.error, schema))
  return { ...(result.data as z.output<S>), ...policy }
}

/** Options that only make sense with order 'key'. */
function contradictions(options: z.output<typeof handlerSchema>): string[] {
  if (options.order === 'key') return []
  const needKey = [
    options.key !== undefined && 'key',
    options.latestOnly && 'latestOnly',
    options.onDead === 'hold' && "onDead: 'hold'",
  ]
  return needKey.filter((name) => name !== false).map((name) => `${name}: requires order: 'key'`)
}

function parseSink(value: object, named: Named, where: string): ResolvedHandler {
  const parsed = parse('sink', sinkSchema, named, where)
  const { type = [], source: sources, match, send, close, breaker: breakerOptions, ...options } = parsed
  const breaker = new CircuitBreaker(breakerOptions)
  const batchRunner = new SinkBatchRunner(send.bind(value), { ...options, breaker })
  return Object.freeze({
    ...options,
    kind: 'sink',
    types: [...new Set(type)],
    sources,
    latestOnly: false,
    match: match?.bind(value),
    run: (ctx: RunContext) => batchRunner.run(ctx),
    breaker,
    close: close?.bind(value),
    onConcurrency: (concurrency: number) => batchRunner.setConcurrency(concurrency),
    file: where,
  })
}

function nameOfType(value: unknown): string {
  return value === null ? 'null' : `a ${typeof value}`
}

function invalid(where: string, kind: string, problems: readonly string[]): InboxError {
  return new InboxError('handler_invalid', `${where} is not a usable ${kind}: ${problems.join('; ')}`, {
    details: { file: where, problems },
  })
}

function problemsOf(error: z.ZodError, schema: { readonly shape: object }): string[] {
  return [...new Set(error.issues.map((issue) => describeIssue(issue, schema)))]
}

function describeIssue(issue: z.core.$ZodIssue, schema: { readonly shape: object }): string {
  const option = issue.path[0] === 'type' ? 'type' : issue.path.join('.')
  const prefix = option === '' ? '' : `${option}: `
  if (issue.code !== 'unrecognized_keys') return `${prefix}${issue.message}`
  const known = Object.keys((option === 'retry' ? retryOptions : option === 'breaker' ? breakerSchema : schema).shape)
  return `${prefix}unknown option ${issue.keys.map((key) => `\`${key}\``).join(', ')}; known options: ${known.join(', ')}`
}

/** A handler or sink for any events, as returned by `defineHandler` or `defineSink`. `name` is required: there is no file name to use. */
export type Definition = AnyHandler | AnySink

// `never` accepts functions that take events of certain types only.
type AnyHandler = Omit<HandlerDefinition<EventSelector, SourceSelector, ProviderName | undefined>, 'run' | 'match'> & {
  run(event: never, ctx: HandlerContext): void | Promise<void>
  match?(event: never): boolean
}
type AnySink = Omit<SinkDefinition<EventSelector>, 'send'> & {
  send(items: never, ctx: SinkContext): void | Promise<void>
}

export interface Definitions {
  readonly handlers: readonly ResolvedHandler[]
  /** One line per invalid definition, which is then missing from `handlers`. */
  readonly problems: readonly string[]
}

/** Checks handlers and sinks defined in code. */
export function parseDefinitions(definitions: unknown): Definitions {
  if (!Array.isArray(definitions)) {
    return { handlers: [], problems: ['handlers: expected a list of results of defineHandler and defineSink'] }
  }
  const handlers: ResolvedHandler[] = []
  const problems: string[] = []
  for (const [index, definition] of definitions.entries()) {
    const where = `handlers[${index}]`
    const problem = nameProblem(definition, handlers)
    if (problem !== undefined) problems.push(`${where}: ${problem}`)
    else {
      try {
        handlers.push(parseDefinition(definition, where, ''))
      } catch (error) {
        if (!(error instanceof InboxError)) throw error
        problems.push(error.message)
      }
    }
  }
  return { handlers, problems }
}

function nameProblem(definition: unknown, before: readonly ResolvedHandler[]): string | undefined {
  if (typeof definition !== 'object' || definition === null) return 'expected a result of defineHandler or defineSink'
  const name = 'name' in definition ? definition.name : undefined
  if (name === undefined) return 'expected a `name`, because runs belong to it'
  const same = before.find((handler) => handler.name === name)
  return same && `${same.file} has the same name ${same.name}; give one of them another \`name\``
}
