import { ApiError, type ApiClient, type Trade } from '../client/index.ts'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { formatAmount, formatText, formatUsd } from '../base/format-values.ts'
import type { Span } from '../base/retry-schedule.ts'
import { maxWallets, type Inbox, type KnownWallet } from '../inbox/port.ts'
import { safeText, type Logger } from '../base/log.ts'
import { countText } from './words.ts'

export interface ReconcilerOptions {
  readonly inbox: Pick<Inbox, 'events' | 'knownWallets'>
  /** Creates a client whose calls end with the signal, and that reports each request. */
  readonly client: (signal: AbortSignal, onRequest: () => void) => ApiClient
  readonly clock: Clock
  readonly log: Logger
}

/** A trade of the upstream whose transaction no stored event names. */
export interface Candidate {
  readonly network: string
  readonly wallet: string
  readonly txHash: string
  readonly tradedAt: string
  readonly summary: string
}

const maxSpanMs = 30 * 24 * 3_600_000
const maxCandidates = 1_000
const pageSize = 100
/** Limit per wallet: 20,000 trades. The upstream promises no order, so all pages have to be read (R55). */
const maxPages = 200
/** An event is created after its trade, so the first events of the span may be about earlier trades. */
const leadMs = 5 * 60_000
/** Maximum remembered transactions. They let a trade between several known wallets count once. */
const maxRemembered = 100_000
const maxHashLength = 200
/** After this many consecutive failed wallets the upstream counts as down. */
const maxFailures = 5
/** Statuses that mean that the upstream doesn't know the wallet. */
const unknownWallet: ReadonlySet<number> = new Set([400, 404, 422])

const limitNotes = [
  'Candidates are trades of the upstream that no stored event names. Only trades that pass the thresholds of your account become events ' +
    '(large trades, new positions), so a candidate may never have been one.',
  'Alerts (token.price_alert, volume alerts), listings, risk changes, contract events, graduations and PnL milestones cannot be ' +
    'reconciled: the upstream has no list of them. Replay the deliveries of that time in its dashboard.',
  'Only wallets of stored events are compared, and each trade is looked up among the events of its wallet.',
  'Events whose bodies were pruned cannot be searched, so their trades may be among the candidates.',
]

const walletsNote =
  `Only the ${maxWallets.toLocaleString('en-US')} wallets with the newest events are requested. Trades of others are not among the ` +
  'candidates.'

type Job = ReturnType<typeof createJob>
export type Reconcile = Readonly<Job>

/** One comparison. Times are milliseconds since 1970. */
const createJob = (id: number, { from, to }: Span, startedAt: number) => ({
  id,
  state: 'running' as 'running' | 'done' | 'failed' | 'cancelled',
  from,
  to,
  startedAt,
  endedAt: null as number | null,
  wallets: 0,
  walletsDone: 0,
  trades: 0,
  requests: 0,
  error: null as string | null,
  /** Limits of the comparison, in plain words. */
  notes: [...limitNotes],
  /** The first 1,000. */
  candidates: [] as Candidate[],
  candidateCount: 0,
})

export type Reconciler = ReturnType<typeof createReconciler>

/** Compares the upstream's trades of a time span with the stored events, one span at a time. */
export function createReconciler({ inbox, client, clock, log }: ReconcilerOptions) {
  let last: Job | null = null
  let stop = new AbortController()
  let running: Promise<unknown> = Promise.resolve()

  function check({ from, to }: Span): void {
    if (!(to > from) || to - from > maxSpanMs)
      throw new InboxError('bad_request', '`from` must be before `to`, and at most 30 days before it')
    if (last?.state === 'running')
      throw new InboxError('already_running', 'a reconcile is running: wait for it, or cancel it')
  }

  function end(job: Job, state: Reconcile['state'], error: string | null = null): void {
    if (job.state === 'running') Object.assign(job, { state, error, endedAt: clock.now() })
  }

  async function run(job: Job, api: ApiClient, signal: AbortSignal): Promise<void> {
    try {
      const wallets = await inbox.knownWallets()
      job.wallets = wallets.length
      if (wallets.length >= maxWallets) job.notes.push(walletsNote)
      await compareWallets({ job, wallets, inbox, api, signal })
      end(job, 'done')
    } catch (error) {
      if (signal.aborted) end(job, 'cancelled')
      else end(job, 'failed', safeText(messageOf(error)))
    }
    const { state, trades, requests, candidateCount, error } = job
    log.info({ state, trades, requests, candidateCount, ...(error !== null && { error }) }, 'reconcile ended')
  }

  const current = (): Reconcile | null => last && { ...last, notes: [...last.notes], candidates: [...last.candidates] }

  return {
    /**
     * Checks whether a reconcile could start.
     *
     * @throws InboxError `bad_request` for a span that is empty or longer than 30 days, `already_running` while one is running
     */
    check,
    /** Starts a reconcile; `current` shows its progress. Throws as `check`. */
    start(span: Span): Reconcile {
      check(span)
      stop = new AbortController()
      const job = createJob((last?.id ?? 0) + 1, span, clock.now())
      last = job
      const api = client(stop.signal, () => job.requests++)
      // A cancelled reconcile may not have ended yet.
      running = Promise.all([running, run(job, api, stop.signal)])
      return { ...job }
    },
    /** The latest reconcile of this process. */
    current,
    /** Cancels a running reconcile and keeps its results. Idempotent. */
    cancel(): Reconcile | null {
      stop.abort(new Error('the reconcile was cancelled'))
      if (last !== null) end(last, 'cancelled')
      return current()
    },
    async close(): Promise<void> {
      stop.abort(new Error('the program stops'))
      await running
    },
  }
}

interface Comparison {
  readonly job: Job
  readonly wallets: readonly KnownWallet[]
  readonly inbox: Pick<Inbox, 'events'>
  readonly api: Pick<ApiClient, 'listWalletTrades'>
  readonly signal: AbortSignal
}

/** Searches the stored events for each trade of each wallet. Rejects if the upstream rejects the key or fails for several wallets in a row. */
async function compareWallets({ job, wallets, inbox, api, signal }: Comparison): Promise<void> {
  const seen = new Set<string>()
  const unknown: string[] = []
  const unasked: string[] = []
  const failed: string[] = []
  let incomplete = 0
  let failuresInRow = 0

  async function compare({ network, address }: KnownWallet): Promise<void> {
    let [pages, received, total] = [0, 0, 0]
    const query = { address, network, limit: pageSize }
    for await (const { data, meta } of api.listWalletTrades(query, { signal }).pages()) {
      if (pages === 0) total = meta.total ?? 0
      received += data.length
      for (const trade of data) await lookUp(trade, network, address)
      if (++pages >= maxPages) break
    }
    if (pages >= maxPages || received < total) incomplete++
  }

  async function lookUp(trade: Trade, network: string, wallet: string): Promise<void> {
    const { tx_hash: txHash, timestamp } = trade as { readonly tx_hash: unknown; readonly timestamp: string }
    const at = Date.parse(timestamp)
    if (!(at >= job.from - leadMs && at < job.to)) return
    if (typeof txHash !== 'string' || txHash === '' || txHash.length > maxHashLength) return
    const key = `${network} ${txHash}`
    if (seen.has(key)) return
    if (seen.size < maxRemembered) seen.add(key)
    job.trades++
    const isKnown = await isStored(txHash, network, wallet)
    signal.throwIfAborted()
    if (isKnown) return
    job.candidateCount++
    if (job.candidates.length === maxCandidates) return
    const tradedAt = safeText(timestamp, 40)
    job.candidates.push({ network, wallet, txHash: safeText(txHash), tradedAt, summary: tradeText(trade) })
  }

  /** An empty page with a cursor proves nothing: continue with the next page. */
  async function isStored(q: string, network: string, address: string): Promise<boolean> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      signal.throwIfAborted()
      const page = await inbox.events({ q, network, address, limit: 1, ...(cursor !== undefined && { cursor }) })
      if (page.data.length > 0) return true
      cursor = page.nextCursor
    }
    return false
  }

  for (const wallet of wallets) {
    signal.throwIfAborted()
    try {
      await compare(wallet)
      failuresInRow = 0
    } catch (error) {
      if (signal.aborted) throw error
      // The client refuses a wallet that no request can name, such as one on an undocumented network.
      if (error instanceof InboxError && error.code === 'usage') unasked.push(error.message)
      else if (!(error instanceof ApiError)) throw error
      else if (unknownWallet.has(error.status ?? 0)) unknown.push(error.message)
      else if (error.isRetryable && ++failuresInRow < maxFailures) failed.push(error.message)
      else throw error
    }
    job.walletsDone++
  }
  const note = (problem: string, [first, ...more]: readonly string[]) => {
    if (first !== undefined) job.notes.push(`${problem} ${countText(more.length + 1, 'wallet')}: ${safeText(first)}`)
  }
  if (incomplete > 0)
    job.notes.push(`Of ${countText(incomplete, 'wallet')} not all trades could be read: there may be more candidates.`)
  note('The upstream does not know', unknown)
  note('The upstream gave no usable response for', failed)
  note('Its API has no request for', unasked)
}

/** A trade for people, such as `buy 12 ABC for $340.00`. Any field may be missing or invalid; the text is safe to show. */
function tradeText(trade: Trade): string {
  const { type, token_in: paid, token_out: received } = trade as Partial<Trade>
  const side = type === 'sell' ? paid : received
  const amountOf = (token: typeof side) => `${formatAmount(token?.amount, 9)} ${formatText(token?.symbol, 24)}`
  const from = type === 'swap' ? `${amountOf(paid)} to ` : ''
  return `${formatText(type, 16)} ${from}${amountOf(side)} for ${formatUsd(side?.value_usd)}`.toWellFormed()
}
