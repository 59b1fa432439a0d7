import { z } from 'zod'
import { eventTypes, networkIds, type NetworkId } from '../../../schema/index.ts'
import { networkStatuses } from '../../../schema/rest/network.ts'
import { searchParameter } from '../../../schema/rest/parameters.ts'
import { planLimits, type Plan } from '../accounts/port.ts'
import { longestDurationMs } from '../duration.ts'
import { keySchema, thresholdsSchema } from '../seed/schema.ts'
import { clockModes } from '../world-clock.ts'
import { parseAddress } from '../world/addresses.ts'
import { archetypes, honeypotTypes, storyNames } from '../world/port.ts'
import { limit, lineOf, numberFrom, numberUpTo, wholeNumber, wholeNumberFrom } from './values.ts'

// What control requests carry. Members that are not here are refused: a misspelt one would do something else than meant.

const network = z.enum(networkIds)
const address = z.string()
const percent = numberUpTo(100)
const usd = numberUpTo(1e15)
const symbol = lineOf('a symbol', 32)
const name = lineOf('a name', 64)

/** Makes the named members of an act, addresses of its network, canonical. */
export function canonical<T extends { readonly network: NetworkId }>(...members: readonly (keyof T & string)[]) {
  return (act: T, context: z.core.$RefinementCtx): T => {
    const changed = members.flatMap((member): [string, string][] => {
      const text = act[member]
      if (typeof text !== 'string') return []
      const parsed = parseAddress(act.network, text)
      if (parsed.ok) return [[member, parsed.address]]
      context.addIssue({ code: 'custom', message: parsed.problem, path: [member] })
      return []
    })
    return { ...act, ...Object.fromEntries(changed) }
  }
}

/** Acts upon the world by the last part of their path. */
export const actBodies = {
  trade: z
    .strictObject({
      network,
      wallet: address,
      side: z.enum(['buy', 'sell']),
      token: address,
      usd: z.exactOptional(usd),
      fraction: z.exactOptional(numberUpTo(1)),
    })
    .transform(canonical('wallet', 'token')),
  swap: z
    .strictObject({ network, wallet: address, from: address, to: address })
    .transform(canonical('wallet', 'from', 'to')),
  list: z.strictObject({ network, symbol, name, liquidityUsd: usd }),
  rug: z.strictObject({ network, token: address, percent }).transform(canonical('token')),
  'transfer-owner': z
    .strictObject({ network, token: address, to: address.nullable() })
    .transform(canonical('token', 'to')),
  honeypot: z.strictObject({ network, token: address, honeypot: z.enum(honeypotTypes) }).transform(canonical('token')),
  graduate: z.strictObject({
    token: z.exactOptional(address),
    symbol: z.exactOptional(symbol),
    name: z.exactOptional(name),
  }),
  'price-move': z
    .strictObject({
      network,
      token: address,
      priceUsd: z.exactOptional(usd),
      percent: z.exactOptional(numberFrom(-99.9, 1e6)),
    })
    .refine(
      (act) => (act.priceUsd === undefined) !== (act.percent === undefined),
      'expected either priceUsd or percent',
    )
    .transform(canonical('token')),
  'network-status': z.strictObject({ network, status: z.enum(networkStatuses) }),
  story: z.strictObject({ story: z.enum(storyNames) }),
  activity: z.strictObject({ factor: numberFrom(0, 10_000) }),
  track: z
    .strictObject({ network, wallet: address, isTracked: z.boolean().default(true) })
    .transform(canonical('wallet')),
  thresholds: thresholdsSchema,
} as const

export const advanceBody = z.strictObject({ ms: wholeNumberFrom(0, longestDurationMs) })
export const clockBody = z
  .strictObject({ mode: z.enum(clockModes), speed: z.exactOptional(numberFrom(0.001, 1e6)) })
  .refine((change) => change.mode !== 'scaled' || change.speed !== undefined, {
    error: 'expected a speed for the mode scaled: how many times as fast as real time',
    path: ['speed'],
  })

const stateNameProblem =
  'expected 1 to 64 letters, digits, dots, hyphens or underscores, of which the first is a letter or a digit'

/** A name that a state is saved under. */
export const stateBody = z.strictObject({
  name: z.string({ error: stateNameProblem }).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, stateNameProblem),
})

const plans = Object.keys(planLimits) as [Plan, ...Plan[]]
export const accountBody = z.strictObject({ name, plan: z.enum(plans) })
const accountProblem = 'expected the id or the name of an account'
/** `account`: its id or its name. */
export const keyBody = z.strictObject({
  account: z.string({ error: accountProblem }).min(1, accountProblem),
  ...keySchema.shape,
})

export const eventsQuery = z.strictObject({
  after: z.exactOptional(wholeNumber),
  limit: limit.prefault('100'),
  type: z.exactOptional(z.enum(eventTypes)),
  order: z.enum(['oldest', 'newest']).prefault('oldest'),
})

const isTrue = z.enum(['true', 'false']).transform((text) => text === 'true')

export const tokensQuery = z.strictObject({
  network: z.exactOptional(network),
  after: wholeNumber.prefault('0'),
  limit: limit.prefault('100'),
})

export const walletsQuery = z.strictObject({
  ...tokensQuery.shape,
  archetype: z.exactOptional(z.enum(archetypes)),
  tracked: z.exactOptional(isTrue),
})

/** A token or a wallet. */
export const placeQuery = z.strictObject({ network, address }).transform(canonical('address'))

export const searchQuery = z.strictObject({ q: searchParameter })

/** The digest is of everything there is, so it is made only for whoever asks for it. */
export const worldQuery = z.strictObject({ digest: z.exactOptional(z.literal('1')) })

export const journalQuery = z.strictObject({
  method: z.exactOptional(z.string()),
  path: z.exactOptional(z.string()),
  status: z.exactOptional(z.string().regex(/^\d(?:\d\d|xx)$/, 'expected a status such as 404, or a class such as 4xx')),
  key: z.exactOptional(z.string()),
  since: z.exactOptional(
    z.iso.datetime('expected a UTC time such as 2026-01-31T12:00:00Z').transform((text) => Date.parse(text)),
  ),
  after: z.exactOptional(wholeNumber),
  limit: limit.prefault('100'),
})
