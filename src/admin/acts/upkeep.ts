import { InboxError } from '../../errors.ts'
import type { Reconciler } from '../../health/port.ts'
import type { Subscription, SubscriptionPort, ViewPort } from '../../inbox/port.ts'
import type {
  AcknowledgedJson,
  EndedSubscriptionJson,
  FoundReconcileJson,
  FoundSubscriptionJson,
  PrunedJson,
} from '../answers/acts.ts'
import type { IndexStatusJson, ReconcileJson } from '../answers/health.ts'
import { beginSubscriptionBody, endSubscriptionBody, parseBody, pruneBody, reconcileBody } from '../bodies.ts'
import { isoTime } from '../json/common.ts'
import { toIndexJson, toReconcileJson, toSubscriptionJson } from '../json/health.ts'

/** What keeps the inbox as a whole in order. `by`: who does it, for the audit. */
export interface UpkeepActs {
  /** Takes `older_than_days`, `max_bytes` or both; gives how much was pruned. */
  prune(body: unknown, by?: string): Promise<PrunedJson>
  /** Says that what is missing or lost is dealt with. */
  acknowledgeGaps(by?: string): Promise<AcknowledgedJson>
  /** Takes what is wanted, its digest, and the id of what it `replaces`. Null: something else stands there by now. */
  beginSubscription(body: unknown, by?: string): Promise<FoundSubscriptionJson>
  /** Takes a `state` and an `answer`. Gives what stands there now. */
  endSubscription(id: string, body: unknown, by?: string): Promise<EndedSubscriptionJson>
}

/** What only a running sidecar can do. */
export interface LiveActs {
  rebuildIndex(by?: string): Promise<IndexStatusJson>
  /** Takes `from` and `to`. Throws `already_running`, `api_not_configured`. What cannot be noted is not started. */
  startReconcile(body: unknown, by?: string): Promise<ReconcileJson>
  showReconcile(): FoundReconcileJson
  /** Idempotent. */
  cancelReconcile(by?: string): Promise<FoundReconcileJson>
}

type UpkeepPort = Pick<ViewPort, 'prune' | 'acknowledgeGaps'> & SubscriptionPort

const dayMs = 24 * 3_600_000

/** `now`: milliseconds since 1970. */
export function createUpkeepActs(inbox: UpkeepPort, now: () => number): UpkeepActs {
  return {
    async prune(body, by) {
      const { older_than_days: days, max_bytes: maxBytes } = parseBody(pruneBody, body)
      const receivedBefore = days === null ? null : now() - days * dayMs
      const { isTooLarge, ...pruned } = await inbox.prune({ receivedBefore, maxBytes }, 'noted', by)
      return { ...pruned, too_large: isTooLarge }
    },
    async acknowledgeGaps(by) {
      const { missingSeqs, gaps } = await inbox.acknowledgeGaps(by)
      return { missing_sequence_numbers: missingSeqs, gaps }
    },
    async beginSubscription(body, by) {
      const { replaces, secret_label: secretLabel, ...wanted } = parseBody(beginSubscriptionBody, body)
      return toFoundJson(await inbox.beginSubscription({ ...wanted, secretLabel, at: now() }, replaces, by))
    },
    async endSubscription(id, body, by) {
      if (!/^\d{1,15}$/.test(id)) throw new InboxError('not_found', 'there is no registration with this id')
      const end = parseBody(endSubscriptionBody, body)
      const newest = await inbox.subscription()
      await inbox.endSubscription(Number(id), end, by)
      const url = newest?.id === Number(id) ? newest.url : null
      return { ...toFoundJson(await inbox.subscription()), ended: { id: Number(id), state: end.state, url } }
    },
  }
}

type LivePort = Pick<ViewPort, 'note' | 'rebuildIndex' | 'indexStatus'>

/** Without a reconciler there is no access to the service. */
export function createLiveActs(inbox: LivePort, reconciler: Reconciler | undefined): LiveActs {
  let isStarting = false
  return {
    async rebuildIndex(by) {
      await inbox.rebuildIndex(by)
      return toIndexJson(await inbox.indexStatus())
    },
    async startReconcile(body, by) {
      const span = parseBody(reconcileBody, body)
      if (reconciler === undefined) {
        throw new InboxError(
          'api_not_configured',
          'this needs access to the service: set INBOX_API_URL and INBOX_API_KEY',
        )
      }
      if (isStarting) throw new InboxError('already_running', 'a reconcile is being started: wait for it, or cancel it')
      reconciler.check(span)
      isStarting = true
      try {
        await inbox.note('reconcile.start', { from: isoTime(span.from), to: isoTime(span.to) }, by)
        return toReconcileJson(reconciler.start(span))
      } finally {
        isStarting = false
      }
    },
    showReconcile: () => ({ reconcile: orNull(reconciler?.current()) }),
    async cancelReconcile(by) {
      const isRunning = reconciler?.current()?.state === 'running'
      const found = { reconcile: orNull(reconciler?.cancel()) }
      if (isRunning) await inbox.note('reconcile.cancel', {}, by)
      return found
    },
  }
}

function orNull(reconcile: ReturnType<Reconciler['current']> | undefined): ReconcileJson | null {
  return reconcile ? toReconcileJson(reconcile) : null
}

export function toFoundJson(found: Subscription | null): FoundSubscriptionJson {
  return { subscription: found && toSubscriptionJson(found) }
}
