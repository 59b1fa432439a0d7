import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import type { Reconcile } from '../health/reconcile.ts'
import { neededTime } from './parse.ts'
import { route, type AdminContext } from './route.ts'
import { component, count, isoTime, time, toWire } from './wire.ts'

export const reconcile = component('Reconcile', {
  id: z.int(),
  state: z.enum(['running', 'done', 'failed', 'cancelled']),
  from: time,
  to: time,
  started_at: time,
  ended_at: time.nullable(),
  wallets: count.describe('requested wallets'),
  wallets_done: count,
  trades: count.describe('trades of the span that the upstream returned'),
  requests: count,
  error: z.string().nullable(),
  notes: z.array(z.string()).describe('limits of the comparison'),
  candidates: z
    .array(
      z.object({
        network: z.string(),
        wallet: z.string(),
        tx_hash: z.string(),
        traded_at: z.string(),
        summary: z.string().describe('such as `buy 12 ABC for $340.00`'),
      }),
    )
    .describe('trades that no stored event names; the first 1,000'),
  candidate_count: count,
})
const foundReconcile = component('FoundReconcile', { reconcile: reconcile.nullable().describe('null: none') })

export type ReconcileJson = z.output<typeof reconcile>

const reconcileBody = z
  .strictObject({ from: neededTime, to: neededTime })
  .describe('{"from": "2026-01-31T14:00:00Z", "to": "2026-01-31T16:00:00Z"}')

/** Contexts with a comparison that is starting: concurrent calls start only one. */
const starting = new WeakSet<AdminContext>()

export const reconcileRoutes = {
  startReconcile: route({
    at: 'POST /reconcile',
    summary: 'Start comparing the trades of the upstream service with stored events',
    body: reconcileBody,
    gives: reconcile,
    status: 202,
    errors: ['already_running', 'api_not_configured'],
    logged: 'reconcile started',
    async answer(context, { body: span, by }) {
      const { inbox, reconciler } = context
      if (reconciler === undefined) {
        throw new InboxError('api_not_configured', 'no access to the upstream: set INBOX_API_URL and INBOX_API_KEY')
      }
      if (starting.has(context)) {
        throw new InboxError('already_running', 'a comparison is starting: wait for it, or cancel it')
      }
      reconciler.check(span)
      starting.add(context)
      try {
        await inbox.note('reconcile.start', { from: isoTime(span.from), to: isoTime(span.to) }, by)
        return toReconcileJson(reconciler.start(span))
      } finally {
        starting.delete(context)
      }
    },
  }),
  getReconcile: route({
    at: 'GET /reconcile',
    summary: 'Show the progress and findings of the latest comparison',
    gives: foundReconcile,
    answer: ({ reconciler }) => ({ reconcile: orNull(reconciler?.current()) }),
  }),
  cancelReconcile: route({
    at: 'POST /reconcile/cancel',
    summary: 'Cancel a running comparison; its findings stay',
    gives: foundReconcile,
    logged: 'reconcile cancelled',
    async answer({ inbox, reconciler }, { by }) {
      const isRunning = reconciler?.current()?.state === 'running'
      const latest = { reconcile: orNull(reconciler?.cancel()) }
      if (isRunning) await inbox.note('reconcile.cancel', {}, by)
      return latest
    },
  }),
}

export function toReconcileJson(latest: Reconcile): ReconcileJson {
  return toWire(latest)
}

function orNull(latest: Reconcile | null | undefined): ReconcileJson | null {
  return latest ? toReconcileJson(latest) : null
}
