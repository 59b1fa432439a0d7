import { z } from 'zod'

/** Which events go to a sink by themselves. Plain data: it goes from thread to thread. */
export interface RouteFilter {
  /** Types, prefixes such as `wallet.*`, or `*`. */
  readonly types: readonly string[]
  /** Undefined: any, or none. */
  readonly networks?: readonly string[] | undefined
  /** All must hold. */
  readonly where: readonly Condition[]
}

/** What the value at a path of the envelope has to be like. */
export interface Condition {
  readonly path: string
  readonly tests: Tests
}

export type Operand = string | number | boolean | null

export interface Tests {
  readonly eq?: Operand | undefined
  readonly ne?: Operand | undefined
  readonly gt?: number | string | undefined
  readonly gte?: number | string | undefined
  readonly lt?: number | string | undefined
  readonly lte?: number | string | undefined
  readonly in?: readonly Operand[] | undefined
  readonly exists?: boolean | undefined
}

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
  .refine((given) => Object.keys(given).length > 0, 'expected at least one of eq, ne, gt, gte, lt, lte, in, exists')
  // As it comes of a variable that is not set: it would let through what lacks the value, or nothing.
  .refine((given) => Object.values(given).every((value) => value !== undefined), 'expected a value, received undefined')

/** A value alone, or a list of which it is one, are short for `eq` and `in`. */
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
  .transform((given) => Object.entries(given).map(([at, wanted]): Condition => ({ path: at, tests: wanted })))

const patternHint = "expected a type such as 'wallet.large_trade', a prefix such as 'wallet.*', '*', or a list of these"
const pattern = z
  .string(patternHint)
  .regex(/^(?:\*|[^*]*[^*.](?:\.\*)?)$/, patternHint)
  .max(255)

function oneOrMore<T extends z.ZodType>(item: T, hint: string) {
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item, hint).min(1, hint))
}

/** The filter of a route, as options of the same object as others. */
export const filterOptions = {
  types: oneOrMore(pattern, patternHint).optional(),
  networks: oneOrMore(
    z.string().min(1).max(100),
    "expected a network such as 'ethereum', or a list of these",
  ).optional(),
  where: where.optional(),
}

/** One of `routes`. */
export const route = z.strictObject({
  ...filterOptions,
  to: oneOrMore(z.string(), 'expected the name of a sink, or a list of these'),
})

export type Filter = { readonly [Name in keyof typeof filterOptions]?: z.output<(typeof filterOptions)[Name]> }

export function toRouteFilter({ types = ['*'], networks, where: conditions = [] }: Filter): RouteFilter {
  return { types, networks, where: conditions }
}

/** Which events go to a sink without a handler, for people. */
export function describeRoutes(routes: readonly RouteFilter[]): string {
  if (routes.length === 0) return 'what handlers enqueue'
  return routes
    .map(({ types, networks, where: conditions }) => {
      const on = networks === undefined ? '' : ` on ${networks.join(', ')}`
      const by = conditions.length === 0 ? '' : ` by ${conditions.map(({ path: at }) => at).join(', ')}`
      return `${types.join(', ')}${on}${by}`
    })
    .join('; ')
}
