import { InvalidArgumentError, type Command } from 'commander'
import type { z } from 'zod'
import type { FoundSubscriptionJson, SubscriptionJson } from '../admin/subscription.ts'
import { toWire } from '../admin/wire.ts'
import { createClient } from '../client/index.ts'
import { systemClock } from '../base/clock.ts'
import { loadConfig, type Config } from '../config/config.ts'
import { subscribedEvents, subscribedUrl, unknownTypes } from '../config/subscribe.ts'
import { InboxError } from '../base/errors.ts'
import type { Subscription, SubscriptionPort } from '../inbox/port.ts'
import { safeText } from '../base/log.ts'
import { describeRegistration, describeWanted } from '../client/registration/describe.ts'
import {
  confirmRegistered,
  register,
  webhookIdOf,
  type Registration,
  type Wanted,
} from '../client/registration/register.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { host } from './host.ts'
import type { OpenedEvents } from './open-events.ts'
import { printNote, printResult } from './output.ts'
import { configSources, readApiSettings, withApiOptions } from './settings.ts'

interface SubscribeOptions extends EventCommandOptions {
  readonly url?: string
  readonly events?: readonly string[]
  readonly secret?: string
  readonly force?: boolean
  readonly confirm?: boolean
  readonly dryRun?: boolean
  readonly apiUrl?: string
  readonly apiKey?: string
}

/** `onchain-inbox subscribe`: registers the receiver with the service, once (R60–R62, R77, R91). */
export function addSubscribeCommand(program: Command): void {
  const subscribe = program
    .command('subscribe')
    .description('register the receiver with the service, once: what is registered already is not registered again')
    .option('--url <url>', 'where the service is to post to (default: that of the setting subscribe)', parseUrl)
    .option('--events <types>', '*, types and prefixes with commas between them (default: as above)', parseEvents)
    .option('--secret <label>', 'the label of the secret that signs (default: as above, or the first)')
    .option('--force', 'register even if something is registered already, or may be')
    .option('--confirm', 'only note that what was begun is registered: you have looked')
    .option('--dry-run', 'only say what would be done')
  asEventCommand(
    withApiOptions(subscribe),
    'subscribe --url https://inbox.example.com/webhooks --events "wallet.*,token.new_listing"',
  ).action(async (options: SubscribeOptions) => {
    // Mistakes are found before anything is opened.
    const work = options.confirm ? confirm(options) : await prepare(options)
    await withEvents(options, work)
  })
}

type Work = (opened: OpenedEvents) => Promise<void>

function confirm(options: SubscribeOptions): Work {
  if (options.force || options.dryRun)
    throw new InboxError('usage', '--confirm goes with neither --force nor --dry-run')
  return async (opened) => {
    const noted = await confirmRegistered(subscriptionsOf(opened), () => systemClock.now())
    if (noted === null) throw new InboxError('not_found', 'there is nothing to confirm: no registration was begun')
    if ('kind' in noted) {
      printResult(toJson(noted, noted.subscription), options, renderResult)
      host().exitCode = exitCodeOf(noted)
      return
    }
    printResult({ result: 'confirmed', subscription: toWire(noted) }, options, () => {
      return `noted as registered: ${safeText(describeWanted(noted), 2_000)}`
    })
  }
}

async function prepare(options: SubscribeOptions): Promise<Work> {
  const config = await loadConfig(configSources(options))
  const { wanted, secret } = wantedOf(options, config)
  for (const problem of unknownTypes(wanted.events)) printNote(`warning: ${problem}`)
  const { url, key } = await readApiSettings(options)
  // What it may wait for a repeat would count as time of a registration that is under way.
  const client = createClient({ baseUrl: url, apiKey: key, retries: 0 })
  return async (opened) => {
    const result = await register({
      inbox: subscriptionsOf(opened),
      client,
      wanted,
      secret,
      now: () => systemClock.now(),
      force: options.force ?? false,
      dryRun: options.dryRun ?? false,
    })
    printResult(toJson(result, wanted), options, renderResult)
    host().exitCode = exitCodeOf(result)
  }
}

/** Options first, then the setting. */
function wantedOf(options: SubscribeOptions, config: Config): { readonly wanted: Wanted; readonly secret: string } {
  const url = options.url ?? config.subscribe?.url
  const events = options.events ?? config.subscribe?.events
  if (url === undefined || events === undefined) {
    throw new InboxError(
      'usage',
      'expected --url and --events, or the setting subscribe with both: where is the service to post what to?',
    )
  }
  const { secrets } = config.secretsSource
  const label = options.secret ?? config.subscribe?.secret ?? secrets[0]?.label
  const secret = secrets.find((one) => one.label === label)
  if (secret === undefined) {
    const labels = secrets.map((one) => one.label).join(', ')
    throw new InboxError('usage', `--secret: there is no secret of this label, expected one of ${labels}`)
  }
  return { wanted: { url, events, secretLabel: secret.label }, secret: secret.key.export().toString() }
}

/** `result` as `Registration` has it. `secret`: one that the service made, which is kept nowhere. */
interface ResultJson {
  readonly result: Registration['kind']
  readonly summary: string
  readonly todo: string | null
  readonly subscription: SubscriptionJson | null
  readonly webhook_id?: string | null
  readonly secret?: string
}

function toJson(result: Registration, wanted: Wanted): ResultJson {
  const found = 'subscription' in result ? result.subscription : result.replaces
  const webhookId = webhookIdIn(result)
  return {
    result: result.kind,
    ...describeRegistration(result, wanted),
    subscription: found && toWire(found),
    ...(webhookId !== undefined && { webhook_id: webhookId }),
    ...('madeSecret' in result && result.madeSecret !== null && { secret: result.madeSecret }),
  }
}

/** Undefined where there is none, or may be none. */
function webhookIdIn(result: Registration): string | null | undefined {
  if ('webhookId' in result) return result.webhookId
  if (result.kind !== 'unchanged' && result.kind !== 'changed') return undefined
  return webhookIdOf(result.subscription.answer)
}

function renderResult({ summary, todo, secret }: ResultJson): string {
  const lines = [safeText(summary, 4_000)]
  if (secret !== undefined) {
    lines.push(
      'The service made a secret of its own. It is shown this once and kept nowhere: add it to INBOX_SECRETS or ' +
        `INBOX_SECRETS_FILE, because deliveries may be signed with it:\n${safeText(secret, 1_000)}`,
    )
  }
  if (todo !== null) lines.push(`What to do: ${safeText(todo, 4_000)}`)
  return lines.join('\n\n')
}

function exitCodeOf(result: Registration): 0 | 1 | 75 {
  switch (result.kind) {
    case 'registered':
    case 'unchanged':
    case 'planned':
      return 0
    case 'under_way':
      return 75
    case 'refused':
      return result.verdict.canRetry ? 75 : 1
    case 'changed':
    case 'unclear':
    case 'unnoted':
      return 1
  }
}

/** Registrations as the admin API has them, by way of a running sidecar or not. */
function subscriptionsOf(opened: OpenedEvents): SubscriptionPort {
  return {
    subscription: async () => toSubscription(await opened.call('getSubscription')),
    beginSubscription: async ({ digest, url, events, secretLabel }, replaces) =>
      toSubscription(
        await opened.call('beginSubscription', { body: { digest, url, events, secret_label: secretLabel, replaces } }),
      ),
    endSubscription: async (id, result) =>
      void (await opened.call('endSubscription', { id: String(id), body: result })),
  }
}

function toSubscription({ subscription: found }: FoundSubscriptionJson): Subscription | null {
  if (found === null) return null
  const { secret_label: secretLabel, at, ...rest } = found
  return { ...rest, secretLabel, at: Date.parse(at) }
}

function parseUrl(text: string): string {
  return parseBy(subscribedUrl, text)
}

function parseEvents(text: string): readonly string[] {
  return parseBy(subscribedEvents, text)
}

function parseBy<T>(type: z.ZodType<T>, text: string): T {
  const result = type.safeParse(text)
  if (result.success) return result.data
  throw new InvalidArgumentError(result.error.issues[0]?.message ?? '')
}
