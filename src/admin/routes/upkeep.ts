import { acknowledged, endedSubscription, pruned, type EndedSubscriptionJson } from '../answers/acts.ts'
import { foundSubscription } from '../answers/health.ts'
import { beginSubscriptionBody, endSubscriptionBody, pruneBody } from '../bodies.ts'
import { route, type Route } from './route.ts'

export const upkeepRoutes: readonly Route[] = [
  route({
    id: 'prune',
    group: 'upkeep',
    method: 'post',
    path: '/prune',
    summary: 'Prune events that have ended, by age, size or both',
    body: pruneBody,
    gives: pruned,
    logged: 'old events were pruned by the admin API',
    answer: (access, { body, by }) => access.prune(body, by),
  }),
  route({
    id: 'acknowledgeGaps',
    group: 'upkeep',
    method: 'post',
    path: '/gaps/acknowledge',
    summary: 'Say that what is missing or lost is dealt with',
    gives: acknowledged,
    logged: 'what is missing or lost was acknowledged by the admin API',
    answer: (access, { by }) => access.acknowledgeGaps(by),
  }),
  route({
    id: 'getSubscription',
    group: 'subscription',
    method: 'get',
    path: '/subscription',
    summary: 'Show the registration with the service',
    gives: foundSubscription,
    answer: (access) => access.showSubscription(),
  }),
  route({
    id: 'beginSubscription',
    group: 'subscription',
    method: 'post',
    path: '/subscription',
    summary: 'Note that a registration with the service is begun; null if somebody else was first',
    body: beginSubscriptionBody,
    gives: foundSubscription,
    logged: 'a registration with the service was begun by the admin API',
    isDone: (answer) => 'subscription' in answer && answer.subscription !== null,
    toLog: subscriptionToLog,
    answer: (access, { body, by }) => access.beginSubscription(body, by),
  }),
  route({
    id: 'endSubscription',
    group: 'subscription',
    method: 'post',
    path: '/subscription/:id/end',
    param: { name: 'id', description: 'The number of the registration.' },
    summary: 'Note how a registration with the service ended',
    body: endSubscriptionBody,
    gives: endedSubscription,
    logged: 'how a registration with the service ended was noted by the admin API',
    toLog: subscriptionToLog,
    answer: (access, { id, body, by }) => access.endSubscription(id, body, by),
  }),
]

/** Of a registration what it is known by and how it stands: a query of its url may hold what is secret. */
function subscriptionToLog(answer: object): object {
  const { ended, subscription } = answer as Partial<EndedSubscriptionJson>
  const { id, state, url } = ended ?? subscription ?? {}
  return { id, state, ...(url && { url: url.replace(/[?#].*/s, '') }) }
}
