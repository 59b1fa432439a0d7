import type { EndedSubscriptionJson } from './acts.ts'
import type { EventAccess, Query } from './views.ts'

/** A request as a route sees it. */
export interface RouteRequest {
  /** The part of the path that stands for `:id`, decoded; empty where there is none. */
  readonly id: string
  readonly query: Query
  /** Of requests that change something: parsed JSON. */
  readonly body: unknown
}

export interface Route {
  readonly method: 'get' | 'post' | 'patch'
  readonly path: string
  /** Whether it takes a body. */
  readonly takesBody?: true
  /** Said in the log once it is done. */
  readonly logged?: string
  /** Whether an answer says that something was done; without it, each does. */
  readonly isDone?: (answer: object) => boolean
  /** What of an answer is logged with it; without it, all but lists. */
  readonly toLog?: (answer: object) => object
  answer(access: EventAccess, request: RouteRequest): Promise<object>
}

/** Of a registration what it is known by and how it stands: a query of its url may hold what is secret. */
function subscriptionToLog(answer: object): object {
  const { ended, subscription } = answer as Partial<EndedSubscriptionJson>
  const { id, state, url } = ended ?? subscription ?? {}
  return { id, state, ...(url && { url: url.replace(/[?#].*/s, '') }) }
}

const pausing = 'handlers were paused or resumed by the admin API'

/** The API below `/api/v1` that answers in JSON. */
export const routes: readonly Route[] = [
  { method: 'get', path: '/events', answer: (access, { query }) => access.listEvents(query) },
  { method: 'get', path: '/events/:id', answer: (access, { id }) => access.showEvent(id) },
  {
    method: 'post',
    path: '/events/:id/replay',
    logged: 'a replay was started by the admin API',
    answer: (access, { id }) => access.replayEvent(id),
  },
  { method: 'get', path: '/replays', answer: (access, { query }) => access.listReplays(query) },
  {
    method: 'post',
    path: '/replays',
    takesBody: true,
    logged: 'a replay was started by the admin API',
    isDone: (answer) => !('dry_run' in answer),
    answer: (access, { body }) => access.startReplay(body),
  },
  { method: 'get', path: '/replays/:id', answer: (access, { id }) => access.showReplay(id) },
  {
    method: 'post',
    path: '/replays/:id/cancel',
    logged: 'a replay was cancelled by the admin API',
    isDone: (answer) => 'cancelled' in answer && answer.cancelled === true,
    answer: (access, { id }) => access.cancelReplay(id),
  },
  { method: 'get', path: '/dead-letters', answer: (access, { query }) => access.listDead(query) },
  { method: 'get', path: '/dead-letters/:id', answer: (access, { id }) => access.showDead(id) },
  {
    method: 'post',
    path: '/dead-letters/requeue',
    takesBody: true,
    logged: 'dead letters were requeued by the admin API',
    answer: (access, { body }) => access.requeueDead(body),
  },
  {
    method: 'post',
    path: '/dead-letters/drop',
    takesBody: true,
    logged: 'dead letters were dropped by the admin API',
    answer: (access, { body }) => access.dropDead(body),
  },
  { method: 'get', path: '/quarantine', answer: (access, { query }) => access.listQuarantine(query) },
  { method: 'get', path: '/quarantine/:id', answer: (access, { id }) => access.showQuarantined(id) },
  {
    method: 'post',
    path: '/quarantine/retry',
    takesBody: true,
    logged: 'the quarantine was tried again by the admin API',
    answer: (access, { body }) => access.retryQuarantined(body),
  },
  {
    method: 'post',
    path: '/quarantine/drop',
    takesBody: true,
    logged: 'bodies in quarantine were dropped by the admin API',
    answer: (access, { body }) => access.dropQuarantined(body),
  },
  { method: 'get', path: '/handlers', answer: (access) => access.listHandlers() },
  {
    method: 'patch',
    path: '/handlers/:id',
    takesBody: true,
    logged: 'a handler was changed by the admin API',
    answer: (access, { id, body }) => access.changeHandler(id, body),
  },
  {
    method: 'post',
    path: '/handlers/:id/drop',
    takesBody: true,
    logged: 'the runs of a handler were dropped by the admin API',
    answer: (access, { id, body }) => access.dropRuns(id, body),
  },
  {
    method: 'post',
    path: '/handlers/:id/pause',
    logged: pausing,
    answer: (access, { id }) => access.setPaused(id, true),
  },
  {
    method: 'post',
    path: '/handlers/:id/resume',
    logged: pausing,
    answer: (access, { id }) => access.setPaused(id, false),
  },
  { method: 'post', path: '/pause', logged: pausing, answer: (access) => access.setPaused(null, true) },
  { method: 'post', path: '/resume', logged: pausing, answer: (access) => access.setPaused(null, false) },
  {
    method: 'post',
    path: '/prune',
    takesBody: true,
    logged: 'old events were pruned by the admin API',
    answer: (access, { body }) => access.prune(body),
  },
  {
    method: 'post',
    path: '/gaps/acknowledge',
    logged: 'what is missing or lost was acknowledged by the admin API',
    answer: (access) => access.acknowledgeGaps(),
  },
  { method: 'get', path: '/health', answer: (access) => access.showHealth() },
  { method: 'get', path: '/subscription', answer: (access) => access.showSubscription() },
  {
    method: 'post',
    path: '/subscription',
    takesBody: true,
    logged: 'a registration with the service was begun by the admin API',
    isDone: (answer) => 'subscription' in answer && answer.subscription !== null,
    toLog: subscriptionToLog,
    answer: (access, { body }) => access.beginSubscription(body),
  },
  {
    method: 'post',
    path: '/subscription/:id/end',
    takesBody: true,
    logged: 'how a registration with the service ended was noted by the admin API',
    toLog: subscriptionToLog,
    answer: (access, { id, body }) => access.endSubscription(id, body),
  },
  { method: 'get', path: '/audit', answer: (access, { query }) => access.listAudit(query) },
]
