import { InvalidArgumentError, type Command } from 'commander'
import { createRandomStream } from '../emulator/random.ts'
import type { Demand } from '../plan/demand.ts'
import { inputs } from '../plan/inputs.ts'
import { planCapacity } from '../plan/model.ts'
import { simulatePlan } from '../plan/simulate.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { renderPlan, renderSimulation } from './plan-text.ts'

interface PlanOptions extends OutputOptions, Omit<Demand, 'retentionDays'> {
  readonly retention: number
  readonly simulate?: boolean
  readonly seed: string
}

/** `onchain-inbox plan`: what an inbox for so many events needs, by a model. Nothing is measured, opened or asked. */
export function addPlanCommand(program: Command): void {
  const plan = program
    .command('plan')
    .description(
      'say what so many events need, by a model: SQLite or PostgreSQL, replicas, disk, processors, time to acknowledge',
    )
    .requiredOption('--events-per-day <number>', 'events that come in a day: 1000000, 1e6', numberFrom(1, 1e12))
    .option(
      '--retention <days>',
      'how long bodies are kept, as INBOX_RETENTION_DAYS; 0: for ever',
      numberFrom(0, 36_500),
      30,
    )
    .option('--body-bytes <number>', 'bytes of a body', numberFrom(1, 100 * 1024 ** 2), 600)
    .option('--handlers <number>', 'handlers and sinks that each event goes to', wholeNumberFrom(0, 1_000), 1)
    .option('--handler-ms <number>', 'milliseconds that one of them takes for an event', numberFrom(0, 1e6), 10)
    .option('--peak <factor>', 'events in the busiest second, as a multiple of the mean', numberFrom(1, 1_000), 5)
    .option(
      '--keys <number>',
      'addresses with events at the same time: those of one address wait for each other',
      wholeNumberFrom(1, 1e9),
      2_000,
    )
    .option(
      '--replicas <number>',
      'at least so many processes at each database, for the case that one fails; more than one needs PostgreSQL',
      wholeNumberFrom(1, 1_000),
      1,
    )
    .option(
      '--fsync-ms <number>',
      'milliseconds of a durable write: `onchain-inbox doctor` measures it',
      numberFrom(0.001, 10_000),
      2,
    )
    .option(
      '--simulate',
      'also send a day of events to it, second by second, with bursts, and with a store and handlers that are away',
    )
    .option('--seed <text>', 'when the bursts of that day come', '1')
    .addHelpText(
      'after',
      '\nExamples:\n  $ onchain-inbox plan --events-per-day 1000000 --retention 30\n' +
        '  $ onchain-inbox plan --events-per-day 1e9 --retention 3 --simulate',
    )
  withOutputOptions(plan).action((options: PlanOptions) => {
    const { retention, simulate, seed, json: _json, table: _table, ...rest } = options
    const result = planCapacity({ ...rest, retentionDays: retention })
    const bursts = createRandomStream(seed, 'day')
    const simulation = simulate ? simulatePlan(result, () => bursts.uniform()) : null
    printResult(toJson({ plan: result, simulation, inputs }), options, () =>
      [renderPlan(result), ...(simulation === null ? [] : [renderSimulation(result, simulation, seed)])].join('\n\n'),
    )
  })
}

/** The same with the names of fields as all our JSON has them. */
function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [toSnakeCase(name), toJson(field)]))
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function numberFrom(least: number, most: number) {
  return (text: string): number => {
    const number = parseNumber(text)
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`Expected a number from ${least} to ${most}.`)
  }
}

function wholeNumberFrom(least: number, most: number) {
  return (text: string): number => {
    const number = parseNumber(text)
    if (Number.isInteger(number) && number >= least && number <= most) return number
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`)
  }
}

/** `1000000`, `0.5` or `1e6`; anything else is NaN. */
function parseNumber(text: string): number {
  return /^\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : NaN
}
