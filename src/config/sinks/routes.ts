import { z } from 'zod'
import { eventPatterns, oneOrMore } from '../../../schema/event-patterns.ts'

const operandHint = 'expected text, a number, true, false or null'
const operand = z.union([z.string(), z.number(), z.boolean(), z.null()], operandHint)
const bound = z.union([z.number(), z.string()], 'expected a number, or text')
const tests = z
  .strictObject({
    eq: operand,
    ne: operand,
    gt: bound,
    gte: bound,
    lt: bound,
    lte: bound,
    in: z.array(operand).min(1),
    exists: z.boolean(),
  })
  .partial()
  .refine(
    (conditions) => Object.keys(conditions).length > 0,
    'expected at least one of eq, ne, gt, gte, lt, lte, in, exists',
  )
  // `{ eq: process.env.UNSET }` would match events without the field.
  .refine(
    (conditions) => Object.values(conditions).every((value) => value !== undefined),
    'expected a value, received undefined',
  )

export type Operand = z.output<typeof operand>
export type Tests = Readonly<z.output<typeof tests>>

/** Tests of the value at a path of the envelope. All must hold. */
export interface Condition {
  readonly path: string
  readonly tests: Tests
}

/** A route without its target. Plain data, because it is sent between threads. */
export interface RouteFilter {
  /** Types, prefixes such as `wallet.*`, or `*`. */
  readonly types: readonly string[]
  /** Name of a source, or `*` for all. Undefined: the default source. */
  readonly source?: string | undefined
  /** Undefined: events of any network, and events without a network. */
  readonly networks?: readonly string[] | undefined
  /** All must hold. */
  readonly where: readonly Condition[]
}

/** A value is short for `eq`, a list for `in`. */
const condition = z.preprocess((value) => {
  if (Array.isArray(value)) return { in: value as unknown[] }
  return typeof value === 'object' && value !== null ? value : { eq: value }
}, tests)

const path = z
  .string()
  .regex(
    /^(?:id|type|created_at|data(?:\.[^.]+)+)$/,
    "expected 'id', 'type', 'created_at' or a path such as 'data.amount_usd'",
  )

const where = z
  .record(path, condition)
  .transform((conditions) => Object.entries(conditions).map(([at, wanted]): Condition => ({ path: at, tests: wanted })))

/** Options of a route's filter. */
export const filterOptions = {
  types: eventPatterns.optional(),
  source: z.string("expected the name of a source, or '*'").optional(),
  networks: oneOrMore(
    z.string().min(1).max(100),
    "expected a network such as 'ethereum', or a list of these",
  ).optional(),
  where: where.optional(),
}

/** An entry of `routes`. */
export const route = z.strictObject({
  ...filterOptions,
  to: oneOrMore(z.string(), 'expected the name of a sink, or a list of these'),
})

export type Filter = { readonly [Name in keyof typeof filterOptions]?: z.output<(typeof filterOptions)[Name]> }

export function toRouteFilter({ types = ['*'], source, networks, where: conditions = [] }: Filter): RouteFilter {
  return { types, networks, where: conditions, ...(source !== undefined && { source }) }
}

/** Describes the events that a sink gets without a handler. */
export function describeRoutes(routes: readonly RouteFilter[]): string {
  if (routes.length === 0) return 'items of handlers'
  return routes
    .map(({ types, source, networks, where: conditions }) => {
      const of = source === undefined ? '' : ` of ${source === '*' ? 'all sources' : source}`
      const on = networks === undefined ? '' : ` on ${networks.join(', ')}`
      const by = conditions.length === 0 ? '' : ` by ${conditions.map(({ path: at }) => at).join(', ')}`
      return `${types.join(', ')}${of}${on}${by}`
    })
    .join('; ')
}
