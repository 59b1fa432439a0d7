import { InvalidArgumentError, Option, type Command } from 'commander'
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { eventTypes, type EventType } from '../../schema/index.ts'
import { systemClock } from '../base/clock.ts'
import { nearest } from '../base/edit-distance.ts'
import { pathProblem, toRawEvent, valueProblem, type Overrides } from '../emulator/overrides.ts'
import { serialize } from '../emulator/serialize.ts'
import { sign } from '../signature/sign.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { numberFrom, parseSeconds, wholeNumberFrom } from './arguments.ts'
import { type ControlClient, openControl, withControlOptions, type ControlOptions } from './control-client.ts'
import type { ShownDelivery } from '../emulator/control/deliveries.ts'
import { followDeliveries, printDelivery } from './follow-deliveries.ts'
import { printResult, withOutputOptions } from './output.ts'
import { readEndpoint } from './secret-argument.ts'
import { postEach, triggerSource } from './trigger-source.ts'
import { host } from './host.ts'

interface TriggerOptions extends ControlOptions {
  readonly set?: Overrides
  readonly count: number
  /** Per second. */
  readonly rate?: number
  readonly timeout: number
  readonly url?: string
  readonly secret?: string
  readonly source?: string
  readonly body?: string
  readonly config?: string
}

const maxEvents = 10_000

const examples = `
Types: ${eventTypes.join(', ')}; with --source, types of that sender

With --set or --url an event is raw: the documented example, which the simulated world doesn't know.
Values of --set are JSON, otherwise text.

Examples:
  a running emulator delivers an event to its webhooks
    $ onchain-inbox trigger wallet.large_trade
    $ onchain-inbox trigger token.risk_change --set data.symbol=PEPE --set data.current_risk_score=99
  post a signed sample of another sender to a source of the running inbox
    $ onchain-inbox trigger --source alchemy ADDRESS_ACTIVITY
  without an emulator: post a signed event to a receiver
    $ onchain-inbox trigger wallet.large_trade --url http://127.0.0.1:8080/webhooks --secret env:WEBHOOK_SECRET -n 20
`

/** `onchain-inbox trigger`: triggers events. Exit 0 = all acknowledged, 1 = some not, 75 = no answer. */
export function addTriggerCommand(program: Command): void {
  const trigger = program
    .command('trigger')
    .description('Trigger events of a type and show who acknowledged them')
    .argument('[type]', 'event type')
    .option('--set <path=value>', 'set a field, such as data.amount_usd=250000; can be repeated', collectSet)
    .option('-n, --count <number>', 'number of events', wholeNumberFrom(1, maxEvents), 1)
    .option('--rate <number>', 'events per second of world time (default: all at once)', numberFrom(0.001, 100_000))
  withOutputOptions(withControlOptions(trigger), 'print one JSON object per line')
    .option('--timeout <seconds>', 'how long to follow deliveries; 0 = not at all', parseSeconds, 10)
    .addOption(
      new Option('--url <url>', 'post to this receiver, without an emulator').conflicts([
        'emulator',
        'token',
        'timeout',
        'rate',
      ]),
    )
    .option('--secret <secret>', 'with --url: the secret that signs: @file, - for standard input, or env:NAME')
    .addOption(
      new Option('--source <name>', 'post signed samples to this source of the settings').conflicts([
        'set',
        'rate',
        'emulator',
        'token',
        'timeout',
        'secret',
      ]),
    )
    .option('--body <body>', 'with --source: send these bytes, not a sample: @file, or - for standard input')
    .option('--config <file>', 'with --source: config file (default: onchain-inbox.config.{ts,js,mjs} in this folder)')
    .addHelpText('after', examples)
    .action(async (type: string | undefined, options: TriggerOptions) => {
      const isAcknowledged = await triggerWith(type, options)
      host().exitCode = isAcknowledged ? 0 : 1
    })
}

async function triggerWith(type: string | undefined, options: TriggerOptions): Promise<boolean> {
  const { url, source } = options
  if (source !== undefined) return triggerSource(type, { ...options, source })
  if (options.body !== undefined) throw new InboxError('usage', '--body needs --source')
  if (type === undefined) throw new InboxError('usage', `expected an event type: one of ${eventTypes.join(', ')}`)
  return url === undefined ? triggerRunning(type, options) : triggerAlone(type, { ...options, url })
}

async function triggerRunning(type: string, options: TriggerOptions): Promise<boolean> {
  const known = parseType(type)
  if (options.secret !== undefined)
    throw new InboxError('usage', '--secret needs --url; a running emulator has its own')
  const client = await openControl(options)
  return triggerEvents(client, known, options)
}

/** Posts raw events to a receiver, without an emulator. */
async function triggerAlone(type: string, options: TriggerOptions & { readonly url: string }): Promise<boolean> {
  const known = parseType(type)
  const { url, secret } = await readEndpoint('--url', options.url, options.secret)
  return postEach(url, options, () => {
    const event = toRawEvent(known, systemClock.now(), randomBytes, options.set ?? {})
    const raw = serialize(event)
    const headers = { 'content-type': 'application/json', 'x-service-signature': sign(raw, secret) }
    return { raw, headers, label: `${type.padEnd(27)}  ${event.id}`, about: { eventId: event.id, type } }
  })
}

const pollMs = 50
const maxListings = 1_000
/** Maximum events per request of the control API. */
const maxPerRequest = 100

/** A triggered event whose deliveries are followed. */
interface Followed {
  /** Null until the service reports a listing. */
  eventId: string | null
  readonly token: unknown
}

/** Triggers events and follows their deliveries. Returns true if all were acknowledged in time. */
async function triggerEvents(client: ControlClient, type: EventType, options: TriggerOptions): Promise<boolean> {
  const { count, rate, set, timeout } = options
  const events: Followed[] = []
  // With a rate, the emulator triggers the others itself as its clock advances.
  const toTrigger = rate === undefined ? count : 1
  while (events.length < toTrigger) {
    const batchSize = rate === undefined ? Math.min(count - events.length, maxPerRequest) : count
    const body = { type, count: batchSize, ...(rate !== undefined && { rate }), ...(set !== undefined && { set }) }
    const { events: triggered, isRaw } = await client.trigger(body)
    for (const { eventId, token } of triggered) {
      events.push({ eventId, token })
      printResult({ msg: 'event', eventId, type, isRaw }, options, () => triggeredLine(type, eventId, options))
    }
  }
  if (timeout === 0) return true
  const startedAt = performance.now()
  await findListings(client, type, events, timeout)
  const counts = { acknowledged: 0, notAcknowledged: 0, notSent: 0, notReported: 0 }
  const eventIds = events.map(({ eventId }) => eventId)
  const timeoutMs = Math.max(0, timeout * 1_000 - (performance.now() - startedAt))
  await followDeliveries(client, eventIds, timeoutMs, (eventId, deliveries) => {
    for (const delivery of deliveries) printDelivery(delivery, options)
    counts[eventId === null ? 'notReported' : verdictOf(deliveries)]++
  })
  const following = rate === undefined ? 0 : count - 1
  printResult({ msg: 'finished', events: count, ...counts, following }, options, (result) => {
    const { acknowledged, notAcknowledged, notSent, notReported } = result
    return [
      `${acknowledged} acknowledged, ${notAcknowledged} not`,
      ...(notSent === 0 ? [] : [`${notSent} not sent: no webhook of the emulator subscribes to ${type}`]),
      ...(notReported === 0 ? [] : [`${notReported} not reported yet: the clock must advance five seconds`]),
      ...(following === 0 ? [] : [`${following} follow as the clock advances: see \`emulator tail\``]),
    ].join(', ')
  })
  return counts.acknowledged === toTrigger
}

function triggeredLine(type: EventType, eventId: string | null, { set }: TriggerOptions): string {
  const id = eventId ?? 'reported within five seconds of world time'
  return `${type.padEnd(27)}  ${id}  triggered${set === undefined ? '' : ' (raw)'}`
}

function verdictOf(deliveries: readonly ShownDelivery[]): 'acknowledged' | 'notAcknowledged' | 'notSent' {
  if (deliveries.length === 0) return 'notSent'
  return deliveries.every(({ state }) => state === 'acknowledged') ? 'acknowledged' : 'notAcknowledged'
}

/** Waits until the service reports listings, and fills in their ids. */
async function findListings(client: ControlClient, type: EventType, events: readonly Followed[], timeoutS: number) {
  const deadline = performance.now() + timeoutS * 1_000
  const missing = () => events.filter(({ eventId }) => eventId === null)
  while (missing().length > 0 && performance.now() < deadline) {
    await wait(pollMs)
    const newest = await client.events(type, maxListings)
    const idByToken = new Map<unknown, string>(
      newest.map(({ event }) => ['token_address' in event.data ? event.data.token_address : null, event.id]),
    )
    for (const event of missing()) event.eventId = idByToken.get(event.token) ?? null
  }
}

function parseType(text: string): EventType {
  const known = eventTypes.find((type) => type === text)
  if (known !== undefined) return known
  throw new InboxError(
    'usage',
    `can't trigger ${safeText(text, 100)}${nearest(text, eventTypes)}; expected one of ${eventTypes.join(', ')}`,
  )
}

function collectSet(text: string, before: Overrides = {}): Overrides {
  const end = text.indexOf('=')
  if (end < 1) throw new InvalidArgumentError('Expected path=value, such as data.amount_usd=250000.')
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
