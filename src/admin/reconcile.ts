import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
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
const foundReconcile = component('FoundReconcile', {
  configured: z.boolean().describe('true with access to the upstream service'),
  reconcile: reconcile.nullable().describe('latest of this process; null: none'),
})

export type ReconcileJson = z.output<typeof reconcile>
export type FoundReconcileJson = z.output<typeof foundReconcile>

const reconcileBody = z
  .strictObject({ from: neededTime, to: neededTime })
  .describe('{"from": "2026-01-31T14:00:00Z", "to": "2026-01-31T16:00:00Z"}')

export const reconcileRoutes = {
  startReconcile: route({
    at: 'POST /reconcile',
    summary: 'Start comparing the trades of the upstream service with stored events',
    body: reconcileBody,
    gives: reconcile,
    status: 202,
    errors: ['already_running', 'api_not_configured'],
    logged: 'reconcile started',
    async answer({ inbox, reconciler }, { body: span, by }) {
      if (reconciler === undefined) {
        throw new InboxError('api_not_configured', 'no access to the upstream: set INBOX_API_URL and INBOX_API_KEY')
      }
      reconciler.check(span)
      await inbox.note('reconcile.start', { from: isoTime(span.from), to: isoTime(span.to) }, by)
      return toWire(reconciler.start(span))
    },
  }),
  getReconcile: route({
    at: 'GET /reconcile',
    summary: 'Show the progress and findings of the latest comparison',
    gives: foundReconcile,
    answer: (context) => showReconcile(context),
  }),
  cancelReconcile: route({
    at: 'POST /reconcile/cancel',
    summary: 'Cancel a running comparison; its findings stay',
    gives: foundReconcile,
    logged: 'reconcile cancelled',
    async answer(context, { by }) {
      const { inbox, reconciler } = context
      const isRunning = reconciler?.current()?.state === 'running'
      reconciler?.cancel()
      if (isRunning) await inbox.note('reconcile.cancel', {}, by)
      return showReconcile(context)
    },
  }),
}

function showReconcile({ reconciler }: AdminContext): FoundReconcileJson {
  return { configured: reconciler !== undefined, reconcile: toWire(reconciler?.current() ?? null) }
}
