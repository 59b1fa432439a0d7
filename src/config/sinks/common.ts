import { z } from 'zod'
import type { Example } from '../../../handlers/sinks/common/kind.ts'
import { longestMs } from '../values.ts'
import { filterOptions } from './routes.ts'

const count = z.int().min(1)
const milliseconds = z.int().min(1).max(longestMs)

const common = z
  .strictObject({
    order: z.enum(['key', 'none']),
    concurrency: count.max(10_000),
    rate: z.number().positive().max(100_000),
    timeoutMs: milliseconds,
    retry: z.strictObject({ attempts: count, baseMs: milliseconds, capMs: milliseconds }).partial(),
    onDead: z.enum(['skip', 'hold']),
    batch: count.max(10_000),
    breaker: z.union([
      z.literal(false),
      z.strictObject({ failures: count.max(1_000), cooldownMs: milliseconds, capMs: milliseconds }).partial(),
    ]),
  })
  .partial()

/** What an entry of `sinks` may say whatever its kind is: where it says nothing, the kind decides. */
export type CommonOptions = z.output<typeof common>

/** The same together with a route of its own. */
export const commonOptions = common.extend(filterOptions)

export const commonNames: readonly string[] = Object.keys(commonOptions.shape)

export const commonExamples: Readonly<Record<string, Example>> = {
  concurrency: ['a whole number', '4'],
  rate: ['a number of items per second', '10'],
  timeoutMs: ['milliseconds', '30000'],
  retry: ['an object of numbers', '{ attempts: 50, baseMs: 1000, capMs: 600000 }'],
  batch: ['a whole number', '100'],
  breaker: ['false, or an object of numbers', '{ failures: 5, cooldownMs: 5000, capMs: 300000 }'],
  where: ['an object of conditions by path', "{ 'data.amount_usd': { gte: 1000 } }"],
}
