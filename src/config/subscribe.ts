import { z } from 'zod'
import { eventTypes } from '../../schema/index.ts'
import { endpointUrl } from '../../schema/rest/url.ts'
import { nearest } from '../base/edit-distance.ts'

/** What the receiver is to be registered for with the service. */
export interface SubscribeSetting {
  /** As it came: where the service posts to. */
  readonly url: string
  /** Types by name, in order, each once; or `*` alone. */
  readonly events: readonly string[]
  /** Label of the secret that deliveries are to be signed with; undefined: the first. */
  readonly secret?: string | undefined
}

/** Its secret known. */
export interface LabelledSubscribe extends SubscribeSetting {
  readonly secret: string
}

const typePattern = /^[a-z][a-z0-9_]{0,63}(?:\.[a-z0-9_]{1,64}){1,3}$/
const eventsProblem = 'events: expected "*", types such as token.new_listing, or prefixes such as wallet.*'

/**
 * Event types, as a list or with commas between them; a prefix such as `wallet.*` stands for the types of it that are known, because
 * the service takes names and the lone `*` only (R61, R91, A23). A type that is not known here may be known there.
 */
export const subscribedEvents = z
  .union([z.string().transform((text) => text.split(',')), z.array(z.string())], { error: eventsProblem })
  .transform((items, context): readonly string[] => {
    const given = items.map((item) => item.trim()).filter((item) => item !== '')
    if (given.length === 1 && given[0] === '*') return given
    const types = given.flatMap((item) => typesOf(item) ?? [])
    if (given.length > 0 && given.every((item) => typesOf(item) !== null)) return [...new Set(types)].toSorted()
    context.addIssue({ code: 'custom', message: eventsProblem })
    return z.NEVER
  })

/** Null where it is neither a type nor the prefix of a known one. */
function typesOf(item: string): readonly string[] | null {
  if (typePattern.test(item)) return [item]
  const found = eventTypes.filter((type) => item.endsWith('.*') && type.startsWith(item.slice(0, -1)))
  return found.length === 0 ? null : found
}

/** Where the service posts to, kept as it came (R35, A25). */
export const subscribedUrl = endpointUrl

const setting = z.strictObject({
  url: subscribedUrl,
  events: subscribedEvents,
  secret: z.string({ error: 'secret: expected the label of a secret' }).optional(),
})

/** The setting `subscribe`: an object, or that as JSON text; or undefined. */
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

/** Of types that are not documented: a line that says so, with the one that may be meant. */
export function unknownTypes(events: readonly string[]): readonly string[] {
  const known: readonly string[] = ['*', ...eventTypes]
  return events
    .filter((type) => !known.includes(type))
    .map((type) => `${type} is no event type that this version knows${nearest(type, eventTypes)}`)
}

/** With the label of the secret; without one in the setting, that of the first. */
export function withLabel(setting: SubscribeSetting, labels: readonly string[]): LabelledSubscribe {
  return { ...setting, secret: setting.secret ?? labels[0] ?? '' }
}

interface SubscribeCircumstances {
  /** Of all secrets. */
  readonly labels: readonly string[]
  /** Whether the service and a key for it are known. */
  readonly hasApi: boolean
  /** Whether what is stored outlives the process. */
  readonly isKept: boolean
}

/** What speaks against a registration at start. */
export function problemsOf({ secret }: SubscribeSetting, circumstances: SubscribeCircumstances): readonly string[] {
  const { labels, hasApi, isKept } = circumstances
  const problems: string[] = []
  if (!hasApi) problems.push('expected INBOX_API_URL and INBOX_API_KEY or INBOX_API_KEY_FILE with it')
  if (!isKept) problems.push('with memory: each start would register once more; expected a database file')
  if (secret !== undefined && !labels.includes(secret)) {
    // Not what it says: that may be the secret itself.
    problems.push(`secret: there is no secret of this label; expected one of ${labels.join(', ')}`)
  }
  return problems.map((problem) => `INBOX_SUBSCRIBE: ${problem}`)
}
