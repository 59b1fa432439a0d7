import type { ApiClient } from '../client/index.ts'
import { pause } from '../client/wait.ts'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { mostWallets } from '../inbox/index-port.ts'
import type { Inbox } from '../inbox/port.ts'
import { safeText, type Logger } from '../base/log.ts'
import type { Reconcile, Reconciler } from './port.ts'
import { compareWallets, type ReconcileInbox, type Tally } from './reconcile-wallets.ts'
import { lengthText } from './words.ts'

export interface ReconcilerOptions {
  readonly inbox: ReconcileInbox & Pick<Inbox, 'knownWallets' | 'indexStatus' | 'stats'>
  /** A client whose calls end with the signal, and that tells of each request it sends; null: there is no access to the service. */
  readonly client: ((signal: AbortSignal, onRequest: () => void) => ApiClient) | null
  readonly clock: Clock
  readonly log: Logger
}

const longestSpanMs = 30 * 24 * 3_600_000
const mostCandidates = 1_000
const waitMs = 500
/** What was stored at the start has to be found by its words before anything can be called missing. */
const longestWaitMs = 120_000

const notes = [
  'Candidates are trades that the service tells of and that no stored event names. Not every trade is an event: only those that pass the ' +
    "thresholds of the webhook's account are (large trades, new positions), so a candidate may never have been one.",
  'Alerts (token.price_alert, volume alerts), listings, risk changes, contract events, graduations and PnL milestones cannot be ' +
    'reconciled: the service has no list of them. Replay the deliveries of that time in its dashboard.',
  'Wallets that no stored event was ever about are not known here and are not asked for.',
  'Events whose bodies were pruned cannot be searched, so trades of theirs may be among the candidates.',
] as const

const cutNote =
  `Only the ${mostWallets.toLocaleString('en-US')} wallets that events came of last are asked for; so many are known, and there may be ` +
  'others, which are left out: trades of theirs are not among the candidates.'

interface Job {
  record: Reconcile
}

/** What ends a job is the last that is said of it. */
function set(job: Job, change: Partial<Reconcile>): void {
  if (job.record.state === 'running') job.record = { ...job.record, ...change }
}

/** One at a time; see `Reconciler`. */
export function createReconciler({ inbox, client, clock, log }: ReconcilerOptions): Reconciler {
  let last: Job | null = null
  let stop = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  let ids = 0

  /** Resolves when the index has caught up with what is stored now. */
  async function indexed(signal: AbortSignal): Promise<void> {
    const { lastSeq } = await inbox.stats()
    for (let waitedMs = 0; ; waitedMs += waitMs) {
      const { state, reason, indexedSeq } = await inbox.indexStatus()
      if (state === 'off')
        throw new Error(
          `the index is off, so no stored event can be found by a transaction: ${reason ?? 'no reason is known'}`,
        )
      if (indexedSeq >= lastSeq) return
      if (waitedMs >= longestWaitMs)
        throw new Error(
          `the index is ${lastSeq - indexedSeq} events behind after ${lengthText(longestWaitMs)}: try again when it has caught up`,
        )
      await pause(clock, waitMs, signal)
    }
  }

  async function run(job: Job, api: ApiClient, signal: AbortSignal): Promise<void> {
    const tally: Tally = {
      told: (change) => set(job, change(job.record)),
      found(candidate) {
        const { candidates, candidateCount } = job.record
        const isListed = candidates.length < mostCandidates
        set(job, { candidateCount: candidateCount + 1, ...(isListed && { candidates: [...candidates, candidate] }) })
      },
    }
    try {
      await indexed(signal)
      const wallets = await inbox.knownWallets()
      const isCut = wallets.length >= mostWallets
      set(job, { wallets: wallets.length, notes: isCut ? [...notes, cutNote] : notes })
      const more = await compareWallets({ inbox, api, wallets, span: job.record, signal, tally })
      set(job, { state: 'done', endedAt: clock.now(), notes: [...job.record.notes, ...more] })
    } catch (error) {
      if (signal.aborted) set(job, { state: 'cancelled', endedAt: clock.now() })
      else set(job, { state: 'failed', endedAt: clock.now(), error: safeText(messageOf(error)) })
    }
    const { state, trades, requests, candidateCount, error } = job.record
    log.info({ state, trades, requests, candidateCount, ...(error !== null && { error }) }, 'a reconcile has ended')
  }

  /** Gives the access to the service that one would begin with. */
  function check({ from, to }: { readonly from: number; readonly to: number }) {
    if (!(to > from) || to - from > longestSpanMs)
      throw new InboxError(
        'bad_request',
        'expected a time of more than nothing and at most 30 days: `from` before `to`',
      )
    if (last?.record.state === 'running')
      throw new InboxError('already_running', 'a reconcile is running: wait for it, or cancel it')
    if (client === null)
      throw new InboxError(
        'api_not_configured',
        'there is no access to the service: set INBOX_API_URL and INBOX_API_KEY',
      )
    return client
  }

  return {
    isConfigured: client !== null,
    check: (span) => void check(span),
    start({ from, to }) {
      const access = check({ from, to })
      stop = new AbortController()
      const begun: Reconcile = {
        id: ++ids,
        state: 'running',
        from,
        to,
        startedAt: clock.now(),
        endedAt: null,
        wallets: 0,
        walletsDone: 0,
        trades: 0,
        requests: 0,
        error: null,
        notes: [...notes],
        candidates: [],
        candidateCount: 0,
      }
      const job: Job = { record: begun }
      last = job
      const { signal } = stop
      const onRequest = () => set(job, { requests: job.record.requests + 1 })
      // One that was cancelled may not have ended yet.
      running = Promise.all([running, run(job, access(signal, onRequest), signal)])
      return begun
    },
    current: () => last?.record ?? null,
    cancel() {
      stop.abort(new Error('the reconcile was cancelled'))
      if (last !== null) set(last, { state: 'cancelled', endedAt: clock.now() })
      return last?.record ?? null
    },
    async close() {
      stop.abort(new Error('the program stops'))
      await running
    },
  }
}
