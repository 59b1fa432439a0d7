import { z } from 'zod'
import { eventTypes } from '../../schema/index.ts'
import { endpointUrl } from '../../schema/rest/url.ts'
import { nearest } from '../base/edit-distance.ts'

/** The registration of this receiver with the service. */
export interface SubscribeSetting {
  /** Webhook URL, unchanged. */
  readonly url: string
  /** Sorted, unique type names, or only `*`. */
  readonly events: readonly string[]
  /** Label of the signing secret; undefined = the first. */
  readonly secret?: string | undefined
}

export interface LabelledSubscribe extends SubscribeSetting {
  readonly secret: string
}

const typePattern = /^[a-z][a-z0-9_]{0,63}(?:\.[a-z0-9_]{1,64}){1,3}$/
const eventsProblem = 'events: expected "*", types such as token.new_listing, or prefixes such as wallet.*'

/**
 * Event types, as a list or separated by commas. A prefix such as `wallet.*` expands to the known types, because the
 * service accepts only names and a single `*` (R61, R91, A23). The service may know types that are unknown here.
 */
export const subscribedEvents = z
  .union([z.string().transform((text) => text.split(',')), z.array(z.string())], { error: eventsProblem })
  .transform((items, context): readonly string[] => {
    const names = items.map((item) => item.trim()).filter((item) => item !== '')
    if (names.length === 1 && names[0] === '*') return names
    const types = names.flatMap((item) => typesOf(item) ?? [])
    if (names.length > 0 && names.every((item) => typesOf(item) !== null)) return [...new Set(types)].toSorted()
    context.addIssue({ code: 'custom', message: eventsProblem })
    return z.NEVER
  })

/** Null if the item is neither a type nor the prefix of a known one. */
function typesOf(item: string): readonly string[] | null {
  if (typePattern.test(item)) return [item]
  const found = eventTypes.filter((type) => item.endsWith('.*') && type.startsWith(item.slice(0, -1)))
  return found.length === 0 ? null : found
}

/** Webhook URL, kept unchanged (R35, A25). */
export const subscribedUrl = endpointUrl

const setting = z.strictObject({
  url: subscribedUrl,
  events: subscribedEvents,
  secret: z.string({ error: 'secret: expected the label of a secret' }).optional(),
})

/** The setting `subscribe`: an object, its JSON text, or undefined. */
export const subscribeSetting = z.unknown().transform((value, context): SubscribeSetting | undefined => {
  if (value === undefined) return undefined
  const result = setting.safeParse(typeof value === 'string' ? parseJson(value) : value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const message = issue?.code === 'unrecognized_keys' ? `${issue.keys.join(', ')}: unknown member` : issue?.message
  context.addIssue({ code: 'custom', message: issue?.path[0] === 'url' ? `url: ${message}` : (message ?? '') })
  return z.NEVER
})

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** One warning per undocumented type, with a suggestion. */
export function unknownTypes(events: readonly string[]): readonly string[] {
  const known: readonly string[] = ['*', ...eventTypes]
  return events
    .filter((type) => !known.includes(type))
    .map((type) => `${type} is no event type that this version knows${nearest(type, eventTypes)}`)
}

/** Adds the label of the first secret if the setting has none. */
export function withLabel(setting: SubscribeSetting, labels: readonly string[]): LabelledSubscribe {
  return { ...setting, secret: setting.secret ?? labels[0] ?? '' }
}

interface SubscribeCircumstances {
  /** Labels of all secrets. */
  readonly labels: readonly string[]
  /** True if URL and key of the service are set. */
  readonly hasApi: boolean
  /** True if the database outlives the process. */
  readonly isDurable: boolean
}

/** Problems that prevent a registration at start. */
export function problemsOf({ secret }: SubscribeSetting, circumstances: SubscribeCircumstances): readonly string[] {
  const { labels, hasApi, isDurable } = circumstances
  const problems: string[] = []
  if (!hasApi) problems.push('expected INBOX_API_URL and INBOX_API_KEY or INBOX_API_KEY_FILE with it')
  if (labels.length === 0) problems.push('expected INBOX_SECRETS or INBOX_SECRETS_FILE with it')
  if (!isDurable) problems.push('with memory: each start would register once more; expected a database file')
  if (secret !== undefined && labels.length > 0 && !labels.includes(secret)) {
    // Never show the value: it may be the secret itself.
    problems.push(`secret: there is no secret of this label; expected one of ${labels.join(', ')}`)
  }
  return problems.map((problem) => `INBOX_SUBSCRIBE: ${problem}`)
}
