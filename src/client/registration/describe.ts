import type { Subscription } from '../../inbox/port.ts'
import { webhookIdOf, type Registration, type Verdict, type Wanted } from './register.ts'

/** Outcome of a registration for people. `todo`: what an operator must do; null: nothing. */
export interface Described {
  readonly summary: string
  readonly todo: string | null
}

const time = (ms: number) => new Date(ms).toISOString()

/** Removes the query of a URL: it may hold a secret. */
export function withoutQuery<T extends { readonly url: string }>(value: T): T {
  const { origin, pathname } = new URL(value.url)
  return { ...value, url: origin + pathname }
}

/** `https://… for all events, signed with the secret "main"` */
export function describeWanted({ url, events, secretLabel }: Wanted): string {
  const types = events.length === 1 && events[0] === '*' ? 'all events' : events.join(', ')
  return `${url} for ${types}, signed with the secret "${secretLabel}"`
}

/** Describes a registration, without a secret that the service generated. */
export function describeRegistration(result: Registration, wanted: Wanted): Described {
  switch (result.kind) {
    case 'registered':
    case 'unstored': {
      const summary = `registered: ${describeWanted(wanted)}${result.webhookId === null ? '' : `, as ${result.webhookId}`}`
      if (result.kind === 'registered') return { summary, todo: null }
      return { summary: `${summary}; but the inbox failed to record it (${result.noteError})`, todo: confirm }
    }
    case 'unchanged':
      return { summary: `already registered on ${time(result.subscription.at)}: nothing was sent`, todo: null }
    case 'changed': {
      const { subscription } = result
      const summary = `registered on ${time(subscription.at)}: ${describeWanted(subscription)}; wanted now: ${describeWanted(wanted)}. Nothing was sent`
      return { summary, todo: describeReplacement(subscription) }
    }
    case 'in_flight':
      return {
        summary: `another process began to register ${result.subscription.url} at ${time(result.subscription.at)}: nothing was sent`,
        todo: `check again after ${time(result.clearAt)}: a registration without an outcome by then may or may not exist`,
      }
    case 'unclear': {
      const { subscription, verdict } = result
      const reason = verdict === null ? 'its outcome is unknown. Nothing was sent' : reasonOf(verdict)
      const summary = `the registration of ${subscription.url}, begun at ${time(subscription.at)}, may or may not exist: ${reason}`
      return { summary, todo: describeCheck(subscription.url) }
    }
    case 'refused':
      return {
        summary: `not registered: ${reasonOf(result.verdict)}`,
        todo: result.verdict.canRetry ? 'try again later' : 'fix this cause, then try again',
      }
    case 'planned': {
      const old = result.replaces === null ? '' : `, in addition to the registration of ${time(result.replaces.at)}`
      return { summary: `would register ${describeWanted(wanted)}${old}`, todo: null }
    }
  }
}

const confirm =
  'once it is writable again, run `onchain-inbox subscribe --confirm`, which only records the registration'

/** In this order no event is lost in between. */
function describeReplacement({ answer }: Subscription): string {
  const id = webhookIdOf(answer) ?? '<webhook_id>'
  return (
    'run `onchain-inbox subscribe --force` to add the wanted registration. Then delete the old one, or each event is delivered twice: ' +
    `\`onchain-inbox webhooks delete ${id}\`, or in the dashboard of the service`
  )
}

/** Advice for a registration that may or may not exist. */
function describeCheck(url: string): string {
  return (
    `look for a webhook for ${url} in the dashboard of the service, or with \`onchain-inbox webhooks list\`. If it exists, run ` +
    '`onchain-inbox subscribe --confirm` to record it; if not, `onchain-inbox subscribe --force` to register it'
  )
}

function reasonOf({ reason, requestId }: Verdict): string {
  return requestId === null ? reason : `${reason} (request ${requestId})`
}
