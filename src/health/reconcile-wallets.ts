import { ApiError, type ApiClient, type Trade } from '../client/index.ts'
import type { KnownWallet } from '../inbox/index-port.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Span } from '../base/ladder.ts'
import { safeText } from '../base/log.ts'
import type { Candidate, Reconcile } from './port.ts'
import { tradeText } from './trade-text.ts'
import { countText } from './words.ts'

export type ReconcileInbox = Pick<Inbox, 'events'>

/** Where progress is told. */
export interface Tally {
  told(change: (last: Reconcile) => Partial<Reconcile>): void
  found(candidate: Candidate): void
}

export interface CompareOptions {
  readonly inbox: ReconcileInbox
  readonly api: Pick<ApiClient, 'listWalletTrades'>
  readonly wallets: readonly KnownWallet[]
  readonly span: Span
  readonly signal: AbortSignal
  readonly tally: Tally
}

const pageSize = 100
/** Of one wallet: 20,000 trades. The service promises no order, so all pages have to be read (R55). */
const mostPages = 200
/** An event is created some time after the trade that it tells of: one that was created in the span may be of a trade before it. */
const leadMs = 5 * 60_000
/** Transactions that are remembered, so that one with several wallets of ours is looked for once. */
const mostRemembered = 100_000
const longestHash = 200
/** Wallets in a row that cannot be asked for: then it is the service that fails. */
const mostFailures = 5
/** Statuses that say that the service does not have this wallet. */
const ofWallet: ReadonlySet<number> = new Set([400, 404, 422])

/**
 * Asks for the trades of one wallet after the other, and looks for each of that time, and the five minutes before it, among the
 * stored events. Gives what was left out, in words. A wallet that the service does not know is passed over. Rejects where it refuses
 * all, or fails for several in a row, and with the reason of the signal.
 */
export async function compareWallets({ inbox, api, wallets, span, signal, tally }: CompareOptions): Promise<string[]> {
  const seen = new Set<string>()
  const unknown: string[] = []
  const failed: string[] = []
  let cut = 0
  let failuresInRow = 0

  async function compare({ network, address }: KnownWallet): Promise<void> {
    let [pages, received, announced] = [0, 0, 0]
    for await (const { data, meta } of api
      .listWalletTrades({ address, network, limit: pageSize }, { signal })
      .pages()) {
      if (pages === 0) announced = meta.total ?? 0
      received += data.length
      for (const trade of data.filter((one) => isWithin(one, span))) await look(trade, network, address)
      if (++pages >= mostPages) break
    }
    if (pages >= mostPages || received < announced) cut++
  }

  async function look(trade: Trade, network: string, wallet: string): Promise<void> {
    const txHash: unknown = trade.tx_hash
    if (typeof txHash !== 'string' || txHash === '' || txHash.length > longestHash) return
    const key = `${network} ${txHash}`
    if (seen.has(key)) return
    if (seen.size < mostRemembered) seen.add(key)
    tally.told((last) => ({ trades: last.trades + 1 }))
    if (await isStored(txHash)) return
    const { timestamp } = trade
    tally.found({
      network,
      wallet,
      txHash: safeText(txHash),
      tradedAt: safeText(timestamp, 40),
      summary: tradeText(trade),
    })
  }

  /** A page without an event that goes on behind it was cut short: nothing is known then. */
  async function isStored(txHash: string): Promise<boolean> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      signal.throwIfAborted()
      const page = await inbox.events({ q: txHash, limit: 1, ...(cursor !== undefined && { cursor }) })
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
      if (signal.aborted || !(error instanceof ApiError)) throw error
      if (ofWallet.has(error.status ?? 0)) unknown.push(error.message)
      // A key that is refused, or a service that is down, fails for all of them.
      else if (error.isRetryable && ++failuresInRow < mostFailures) failed.push(error.message)
      else throw error
    }
    tally.told((last) => ({ walletsDone: last.walletsDone + 1 }))
  }
  return [
    ...(cut === 0
      ? []
      : [`Of ${countText(cut, 'wallet')} not all trades could be read: there may be more candidates.`]),
    ...describeSkipped(unknown, 'The service does not know'),
    ...describeSkipped(failed, 'The service gave no usable answer for'),
  ]
}

function describeSkipped(messages: readonly string[], what: string): string[] {
  const [first] = messages
  return first === undefined ? [] : [`${what} ${countText(messages.length, 'wallet')}: ${safeText(first)}`]
}

function isWithin({ timestamp }: Trade, { from, to }: Span): boolean {
  const at = Date.parse(timestamp)
  return at >= from - leadMs && at < to
}
