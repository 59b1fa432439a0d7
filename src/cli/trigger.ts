import { InvalidArgumentError, Option, type Command } from 'commander'
import { eventTypes, type EventType } from '../../schema/index.ts'
import { editDistance } from '../edit-distance.ts'
import { pathProblem, valueProblem, type Overrides } from '../emulator/overriding.ts'
import { InboxError } from '../errors.ts'
import { safeText } from '../log.ts'
import { openControl, reportingErrors, withControlOptions, type ControlOptions } from './control-command.ts'
import { withOutputOptions } from './output.ts'
import { parseSeconds } from './seconds.ts'
import { triggerAlone } from './trigger-alone.ts'
import { unknownMembers } from './trigger-members.ts'
import { triggerRunning } from './trigger-running.ts'

/** What is to be triggered. */
export interface TriggerOptions extends ControlOptions {
  readonly set?: Overrides
  readonly count: number
  /** Per second. */
  readonly rate?: number
  readonly timeout: number
  readonly url?: string
  readonly secret?: string
  readonly seed?: string
}

const mostEvents = 10_000
const fastest = 100_000

const examples = `
Types: ${eventTypes.join(', ')}

With --set an event is raw: it did not happen in the world, which does not know of it. Values are JSON, or else text.

Examples:
  an event of a running emulator, delivered to its webhooks
    $ onchain-inbox trigger wallet.large_trade
    $ onchain-inbox trigger token.risk_change --set data.symbol=PEPE --set data.current_risk_score=99
  without an emulator: signed, and posted to a receiver
    $ onchain-inbox trigger wallet.large_trade --url http://127.0.0.1:8080/webhooks --secret env:WEBHOOK_SECRET -n 20
`

/** `onchain-inbox trigger`: makes events of a type arise. Exit 0 = all acknowledged, 1 = some not, 75 = nothing answers. */
export function addTriggerCommand(program: Command): void {
  const trigger = program
    .command('trigger')
    .description('make an event of a type arise, by the shortest story that leads to it, and say who acknowledged it')
    .argument('<type>', 'the type of the event')
    .option('--set <path=value>', 'a member of the event, such as data.amount_usd=250000; can be repeated', collectSet)
    .option('-n, --count <number>', 'how many events', parseCount, 1)
    .option('--rate <number>', 'events per second, in time of the world (default: all at once)', parseRate)
  withOutputOptions(withControlOptions(trigger), 'print one JSON object per line')
    .option('--timeout <seconds>', 'how long deliveries of the emulator are followed; 0 = not', parseSeconds, 10)
    .addOption(
      new Option('--url <url>', 'post it to this receiver, without an emulator').conflicts([
        'emulator',
        'token',
        'timeout',
      ]),
    )
    .option('--secret <secret>', 'what signs it, with --url: @file, - for standard input, or env:NAME')
    .option('--seed <text>', 'with --url: the same seed gives the same names and addresses (default: demo)')
    .addHelpText('after', examples)
    .action(async (type: string, options: TriggerOptions) => {
      await reportingErrors(options, async () => {
        const known = parseType(type)
        if (options.url !== undefined) {
          warnOfMembers(known, options)
          return triggerAlone(known, { ...options, url: options.url })
        }
        const misplaced = (['secret', 'seed'] as const).find((name) => options[name] !== undefined)
        if (misplaced !== undefined) {
          throw new InboxError('usage', `--${misplaced} goes with --url; an emulator has its own`)
        }
        const client = await openControl(options)
        warnOfMembers(known, options)
        return triggerRunning(client, known, options)
      })
    })
}

/** Throws `usage` that names the nearest type and lists all. */
function parseType(text: string): EventType {
  const known = eventTypes.find((type) => type === text)
  if (known !== undefined) return known
  const [nearest] = eventTypes.toSorted(
    (a, b) => editDistance(a, text.slice(0, 100)) - editDistance(b, text.slice(0, 100)),
  )
  throw new InboxError(
    'usage',
    `no event of the type ${safeText(text, 100)} can be triggered; did you mean ${nearest}? There are ${eventTypes.join(', ')}`,
  )
}

/** Members that nobody documented can be meant; more often they are misspelt. */
function warnOfMembers(type: EventType, { set = {} }: TriggerOptions): void {
  for (const warning of unknownMembers(type, set)) process.stderr.write(`warning: ${warning}\n`)
}

function collectSet(text: string, before: Overrides = {}): Overrides {
  const end = text.indexOf('=')
  if (end < 1) throw new InvalidArgumentError('Expected a path and a value such as data.amount_usd=250000.')
  const path = text.slice(0, end)
  const problem = pathProblem(path)
  if (problem !== null) throw new InvalidArgumentError(`${problem}.`)
  const value = parseValue(text.slice(end + 1))
  const misfit = valueProblem(value)
  if (misfit !== null) throw new InvalidArgumentError(`${path}: ${misfit}.`)
  return { ...before, [path]: value }
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function parseCount(text: string): number {
  const count = Number(text)
  if (/^\d{1,6}$/.test(text) && count >= 1 && count <= mostEvents) return count
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${mostEvents}.`)
}

function parseRate(text: string): number {
  const rate = Number(text)
  if (text.trim() !== '' && rate >= 0.001 && rate <= fastest) return rate
  throw new InvalidArgumentError(`Expected a number from 0.001 to ${fastest}.`)
}
