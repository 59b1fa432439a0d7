import { z } from 'zod'
import type { Attempt, AttemptReport, Delivery } from '../deliveries/delivery.ts'
import { HttpError } from '../rest/error.ts'
import { type ControlContext, type Route, route, toTime } from './route.ts'
import { limit, utcTime } from '../values.ts'

const states = ['pending', 'acknowledged', 'undelivered', 'cancelled', 'failed'] as const

const listQuery = z.strictObject({
  state: z.exactOptional(z.enum(states)),
  endpoint: z.exactOptional(z.string()),
  event: z.exactOptional(z.string()),
  type: z.exactOptional(z.string()),
  after: z.exactOptional(z.string().regex(/^dlv_\d{12,15}$/, 'expected the id of a delivery: dlv_ and digits')),
  limit: limit.prefault('100'),
})

const replayBody = z.strictObject({
  since: utcTime,
  endpoint: z.exactOptional(z.string()),
  type: z.exactOptional(z.string()),
  dryRun: z.boolean().default(false),
})

const replayRoute = { status: 201, answer: replay } as const

/** Deliveries, their attempts, and replays (R87, R88, A46). */
export const deliveryRoutes: readonly Route[] = [
  route('GET', '/deliveries', {
    query: listQuery,
    answer: ({ deliveries }, { query: { limit: maxCount, ...filter } }) =>
      deliveries.list(filter, maxCount).map(toShown),
  }),
  route('GET', '/deliveries/counts', { answer: ({ deliveries }) => deliveries.counts() }),
  route('GET', '/deliveries/:id', {
    answer({ deliveries }, { id }) {
      const delivery = deliveries.read(id)
      if (delivery === null) throw noSuch(id)
      return toShownDetail(delivery)
    },
  }),
  route('POST', '/deliveries/replay', {
    body: replayBody,
    answer({ deliveries }, { body: { dryRun, ...filter } }) {
      return deliveries.replayAll(filter, dryRun)
    },
  }),
  route('POST', '/deliveries/:id/replay', replayRoute),
  route('POST', '/deliveries/:id/duplicate', replayRoute),
]

function replay({ deliveries }: ControlContext, { id }: { readonly id: string }) {
  const replayed = deliveries.replay(id)
  if (replayed === null) throw noSuch(id)
  if (replayed === 'gone') {
    throw new HttpError(409, 'conflict', `the webhook or alert of ${id} was deleted, so it can't be replayed`)
  }
  return toShown(replayed)
}

function noSuch(id: string): HttpError {
  return new HttpError(404, 'not_found', `there is no delivery ${id}; GET /_emulator/deliveries lists them`)
}

/** A delivery in responses. */
export type ShownDelivery = ReturnType<typeof toShown>
/** A delivery with its body as text and its attempts, oldest first. */
export type ShownDetail = ReturnType<typeof toShownDetail>
export type ShownAttempt = ReturnType<typeof toShownAttempt<Attempt>>
/** An attempt in the stream. */
export type ShownReport = ReturnType<typeof toShownAttempt<AttemptReport>>
/** Body of a bulk replay. */
export type ReplayRequest = z.input<typeof replayBody>

function toShown({ seq: _seq, body: _body, log: _log, createdAt, nextAttemptAt, ...delivery }: Delivery) {
  return {
    ...delivery,
    createdAt: toTime(createdAt),
    nextAttemptAt: nextAttemptAt === null ? null : toTime(nextAttemptAt),
  }
}

function toShownDetail(delivery: Delivery) {
  const log = delivery.log.map((attempt) => toShownAttempt(attempt))
  return { ...toShown(delivery), body: delivery.body.toString(), log }
}

/** Formats an attempt for responses and the stream. */
export function toShownAttempt<T extends Attempt>({ at, nextAttemptAt, ...attempt }: T) {
  return { ...attempt, at: toTime(at), nextAttemptAt: nextAttemptAt === null ? null : toTime(nextAttemptAt) }
}
