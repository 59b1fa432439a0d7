import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import type { Subscription } from '../inbox/port.ts'
import { numberOf, route } from './route.ts'
import { component, time, toWire } from './wire.ts'

export const subscription = component('Subscription', {
  id: z.int(),
  digest: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  secret_label: z.string(),
  state: z.enum(['begun', 'registered', 'failed']),
  at: time,
  answer: z.string().nullable(),
})
const foundSubscription = component('FoundSubscription', { subscription: subscription.nullable() })

const endedSubscription = component('EndedSubscription', {
  ...foundSubscription.shape,
  ended: subscription.pick({ id: true, state: true }).extend({
    url: z.string().nullable().describe('null: there is a newer one'),
  }),
})

export type SubscriptionJson = z.output<typeof subscription>
export type FoundSubscriptionJson = z.output<typeof foundSubscription>
type EndedSubscriptionJson = z.output<typeof endedSubscription>

const beginBody = z
  .strictObject({
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    url: z.url().max(2_048),
    events: z.array(z.string().min(1).max(255)).min(1).max(1_000),
    secret_label: z.string().min(1).max(32),
    replaces: z.int().min(1).nullable(),
  })
  .describe('{"digest": "…", "url": "https://…", "events": ["*"], "secret_label": "main", "replaces": null}')
const endBody = z
  .strictObject({ state: z.enum(['registered', 'failed']), answer: z.string().max(65_536).nullable() })
  .describe('{"state": "registered" or "failed", "answer": text or null}')

export const subscriptionRoutes = {
  getSubscription: route({
    at: 'GET /subscription',
    summary: 'Show the registration with the upstream service',
    gives: foundSubscription,
    answer: async ({ inbox }) => toFoundJson(await inbox.subscription()),
  }),
  beginSubscription: route({
    at: 'POST /subscription',
    summary: 'Record the begin of a registration; null if another one was first',
    body: beginBody,
    gives: foundSubscription,
    logged: 'registration begun',
    isDone: (answer) => 'subscription' in answer && answer.subscription !== null,
    toLog,
    async answer({ inbox, now }, { body: { replaces, secret_label: secretLabel, ...wanted }, by }) {
      return toFoundJson(await inbox.beginSubscription({ ...wanted, secretLabel, at: now() }, replaces, by))
    },
  }),
  endSubscription: route({
    at: 'POST /subscription/:id/end',
    param: { name: 'id', description: 'The number of the registration.' },
    summary: 'Record the result of a registration',
    body: endBody,
    gives: endedSubscription,
    logged: 'registration result recorded',
    toLog,
    async answer({ inbox }, { id, body, by }) {
      const number = numberOf(id)
      if (number === null) throw new InboxError('not_found', 'no registration has this id')
      const newest = await inbox.subscription()
      await inbox.endSubscription(number, body, by)
      const url = newest?.id === number ? newest.url : null
      return { ...toFoundJson(await inbox.subscription()), ended: { id: number, state: body.state, url } }
    },
  }),
}

export function toFoundJson(latest: Subscription | null): FoundSubscriptionJson {
  return { subscription: latest && toWire(latest) }
}

/** Id, state, and the URL without its query, which may hold a secret. */
function toLog(answer: object): object {
  const { ended, subscription: latest } = answer as Partial<EndedSubscriptionJson>
  const { id, state, url } = ended ?? latest ?? {}
  return { id, state, ...(url && { url: url.replace(/[?#].*/s, '') }) }
}
