import type { Subscription } from '../../inbox/port.ts'
import { webhookIdOf, type Registration, type Wanted } from './register.ts'

/** What became of a registration, in words for people. `todo`: what there is left to do for somebody. */
export interface Described {
  readonly summary: string
  readonly todo: string | null
}

const time = (ms: number) => new Date(ms).toISOString()

/** A query may hold a secret. */
export function withoutQuery<T extends { readonly url: string }>(value: T): T {
  const { origin, pathname } = new URL(value.url)
  return { ...value, url: origin + pathname }
}

/** `url` gets these events, signed with that secret: as a part of a sentence. */
export function describeWanted({ url, events, secretLabel }: Wanted): string {
  const types = events.length === 1 && events[0] === '*' ? 'all events' : events.join(', ')
  return `${url} for ${types}, signed with the secret "${secretLabel}"`
}

/** The secret that the service may have made is not in it. */
export function describeRegistration(result: Registration, wanted: Wanted): Described {
  switch (result.kind) {
    case 'registered':
      return { summary: `registered: ${describeWanted(wanted)}${handleOf(result.webhookId)}`, todo: null }
    case 'unnoted':
      return {
        summary: `registered: ${describeWanted(wanted)}${handleOf(result.webhookId)}; but the inbox could not note it (${result.noteError})`,
        todo: confirm,
      }
    case 'unchanged':
      return { summary: `registered already, on ${time(result.subscription.at)}: nothing was sent`, todo: null }
    case 'changed':
      return { summary: describeChange(result.subscription, wanted), todo: replaceOld(result.subscription) }
    case 'under_way':
      return {
        summary: `somebody else began to register ${result.subscription.url} at ${time(result.subscription.at)}, and has not ended: nothing was sent`,
        todo: `look again after ${time(result.clearAt)}: if nobody has ended it by then, it may or may not be registered`,
      }
    case 'unclear':
      return { summary: describeUnclear(result), todo: lookThere(result.subscription.url) }
    case 'refused':
      return {
        summary: `nothing was registered: ${result.verdict.reason}${requestOf(result.verdict.requestId)}`,
        todo: result.verdict.canRetry ? 'try again later' : 'mend what it says, then try again',
      }
    case 'planned':
      return {
        summary:
          `would register ${describeWanted(wanted)}` +
          (result.replaces === null ? '' : `, beside what was registered on ${time(result.replaces.at)}`),
        todo: null,
      }
  }
}

const confirm =
  'once it can be written again, run `onchain-inbox subscribe --confirm`, which only notes that it is registered'

/** In this order nothing is lost in between. */
function replaceOld({ answer }: Subscription): string {
  const id = webhookIdOf(answer) ?? '<webhook_id>'
  return (
    'run `onchain-inbox subscribe --force`, which registers what is wanted now, beside the old one. Then remove that, or each event ' +
    `comes twice: by \`onchain-inbox webhooks delete ${id}\` where the service can do that, else by hand in its dashboard`
  )
}

/** What to do about one that may or may not be there. */
export function lookThere(url: string): string {
  return (
    `look in the dashboard of the service, or try \`onchain-inbox webhooks list\`, whether there is a webhook for ${url}. If there is ` +
    'one: `onchain-inbox subscribe --confirm` notes that. If there is none: `onchain-inbox subscribe --force` registers it'
  )
}

function describeChange(old: Subscription, wanted: Wanted): string {
  return (
    `registered on ${time(old.at)}: ${describeWanted(old)}; wanted now: ${describeWanted(wanted)}. ` +
    'Nothing was sent'
  )
}

function describeUnclear({ subscription, verdict }: Extract<Registration, { kind: 'unclear' }>): string {
  const when = `the registration of ${subscription.url} that was begun at ${time(subscription.at)}`
  if (verdict === null) return `${when} has no known end: it may or may not be there. Nothing was sent`
  return `${when} may or may not be there: ${verdict.reason}${requestOf(verdict.requestId)}`
}

function handleOf(webhookId: string | null): string {
  return webhookId === null ? '' : `, as ${webhookId}`
}

function requestOf(requestId: string | null): string {
  return requestId === null ? '' : ` (request ${requestId})`
}
