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
import { withInboxOptions, withInbox, type InboxOptions } from './inbox-command.ts'
import { host } from './host.ts'
import type { InboxCalls } from './inbox-calls.ts'
import { printNote, printResult } from './output.ts'
import { configInputs, readApiSettings, withApiOptions } from './settings.ts'

interface SubscribeOptions extends InboxOptions {
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
    .description('Register the receiver with the service, once')
    .option('--url <url>', 'webhook URL for the service (default: from the setting subscribe)', parseUrl)
    .option('--events <types>', '*, types or prefixes, separated by commas (default: from subscribe)', parseEvents)
    .option('--secret <label>', 'label of the signing secret (default: from subscribe, or the first)')
    .option('--force', 'register even if a registration exists or may exist')
    .option('--confirm', 'only record that the begun registration exists, after you checked')
    .option('--dry-run', 'only print what would be done')
  withInboxOptions(
    withApiOptions(subscribe),
    'subscribe --url https://inbox.example.com/webhooks --events "wallet.*,token.new_listing"',
  ).action(async (options: SubscribeOptions) => {
    // Validates the options before the inbox is opened.
    const work = options.confirm ? confirm(options) : await prepare(options)
    await withInbox(options, work)
  })
}

type Work = (opened: InboxCalls) => Promise<void>

function confirm(options: SubscribeOptions): Work {
  if (options.force || options.dryRun)
    throw new InboxError('usage', "--confirm can't be combined with --force or --dry-run")
  return async (opened) => {
    const confirmed = await confirmRegistered(subscriptionsOf(opened), () => systemClock.now())
    if (confirmed === null) throw new InboxError('not_found', 'nothing to confirm: no registration was begun')
    if ('kind' in confirmed) {
      printResult(toJson(confirmed, confirmed.subscription), options, renderResult)
      host().exitCode = exitCodeOf(confirmed)
      return
    }
    printResult({ result: 'confirmed', subscription: toWire(confirmed) }, options, () => {
      return `recorded as registered: ${safeText(describeWanted(confirmed), 2_000)}`
    })
  }
}

async function prepare(options: SubscribeOptions): Promise<Work> {
  const config = await loadConfig(configInputs(options))
  const { wanted, secret } = wantedOf(options, config)
  for (const problem of unknownTypes(wanted.events)) printNote(`warning: ${problem}`)
  const { url, key } = await readApiSettings(options)
  // No retries: their pauses would count as time of the pending registration.
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

/** Options override the setting. */
function wantedOf(options: SubscribeOptions, config: Config): { readonly wanted: Wanted; readonly secret: string } {
  const url = options.url ?? config.subscribe?.url
  const events = options.events ?? config.subscribe?.events
  if (url === undefined || events === undefined) {
    throw new InboxError('usage', 'expected --url and --events, or the setting subscribe')
  }
  const secrets = config.webhookSecrets?.secrets ?? []
  const label = options.secret ?? config.subscribe?.secret ?? secrets[0]?.label
  const secret = secrets.find((secret) => secret.label === label)
  if (secret === undefined) {
    const labels = secrets.map((secret) => secret.label).join(', ')
    throw new InboxError('usage', `--secret must be the label of a secret: ${labels}`)
  }
  return { wanted: { url, events, secretLabel: secret.label }, secret: secret.key.export().toString() }
}

/** `result` as in `Registration`. `secret`: generated by the service and stored nowhere. */
interface ResultJson {
  readonly result: Registration['kind']
  readonly summary: string
  readonly todo: string | null
  readonly subscription: SubscriptionJson | null
  readonly webhook_id?: string | null
  readonly secret?: string
}

function toJson(result: Registration, wanted: Wanted): ResultJson {
  const registered = 'subscription' in result ? result.subscription : result.replaces
  const webhookId = webhookIdIn(result)
  return {
    result: result.kind,
    ...describeRegistration(result, wanted),
    subscription: registered && toWire(registered),
    ...(webhookId !== undefined && { webhook_id: webhookId }),
    ...('madeSecret' in result && result.madeSecret !== null && { secret: result.madeSecret }),
  }
}

/** Undefined if there is no webhook, or it is unknown. */
function webhookIdIn(result: Registration): string | null | undefined {
  if ('webhookId' in result) return result.webhookId
  if (result.kind !== 'unchanged' && result.kind !== 'changed') return undefined
  return webhookIdOf(result.subscription.answer)
}

function renderResult({ summary, todo, secret }: ResultJson): string {
  const lines = [safeText(summary, 4_000)]
  if (secret !== undefined) {
    lines.push(
      'The service generated its own secret. It is shown only once and stored nowhere. Add it to INBOX_SECRETS or ' +
        `INBOX_SECRETS_FILE, because it may sign deliveries:\n${safeText(secret, 1_000)}`,
    )
  }
  if (todo !== null) lines.push(`To do: ${safeText(todo, 4_000)}`)
  return lines.join('\n\n')
}

function exitCodeOf(result: Registration): 0 | 1 | 75 {
  switch (result.kind) {
    case 'registered':
    case 'unchanged':
    case 'planned':
      return 0
    case 'in_flight':
      return 75
    case 'refused':
      return result.verdict.canRetry ? 75 : 1
    case 'changed':
    case 'unclear':
    case 'unstored':
      return 1
  }
}

/** Registrations through the admin API. */
function subscriptionsOf(opened: InboxCalls): SubscriptionPort {
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

function toSubscription({ subscription }: FoundSubscriptionJson): Subscription | null {
  if (subscription === null) return null
  const { secret_label: secretLabel, at, ...rest } = subscription
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
