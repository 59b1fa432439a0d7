import type { Mark } from './numbers.ts'
import { countWhile } from '../sorted-list.ts'

/** A transaction of a wallet: one leg for a purchase, a sale or a transfer, two legs for a swap. Never changes. */
export interface LoggedTrade {
  readonly at: number
  readonly seq: number
  readonly wallet: number
  readonly legs: readonly [Leg, ...Leg[]]
  readonly impactPct: number
  /** Gain (in coins) and cost (in millionths of a dollar) of all positions that the wallet has closed so far. */
  readonly realized: bigint
  readonly realizedCost: bigint
}

/** How the balance of a wallet in a token changed, and how wallet and token stood afterwards. USD in millionths. */
export interface Leg {
  readonly token: number
  /** A transfer moves units without a price: a mint, or liquidity taken out. */
  readonly kind: 'buy' | 'sale' | 'transfer'
  readonly dex: string
  readonly amount: bigint
  readonly coins: bigint
  readonly value: bigint
  readonly fee: bigint
  readonly balance: bigint
  readonly cost: bigint
  readonly mark: Mark
  readonly volume: bigint
}

/** Names the holding of a wallet in a token. */
export function holdingKey(wallet: number, token: number): number {
  return wallet * 2 ** 26 + token
}

/** The leg of a trade that is about a token. */
export function legOf(trade: LoggedTrade, token: number): Leg {
  const leg = trade.legs.find((one) => one.token === token)
  if (leg === undefined) throw new RangeError(`trade ${trade.seq} has no token ${token}`)
  return leg
}

/**
 * Every change of a balance, oldest first, and the lists to find them by. Each leg holds the state after it, so any
 * earlier moment can be read again.
 */
export class TradeLog {
  #all: LoggedTrade[] = []
  #byWallet: LoggedTrade[][] = []
  #withCoin: LoggedTrade[][] = []
  #byToken: LoggedTrade[][] = []
  #byHolding = new Map<number, LoggedTrade[]>()
  #transfers = new Map<number, LoggedTrade[]>()

  /** All trades and transfers. */
  get all(): readonly LoggedTrade[] {
    return this.#all
  }

  add(trade: LoggedTrade): void {
    this.#all.push(trade)
    const { wallet, legs } = trade
    const [first] = legs
    if (first.kind === 'transfer') return addTo(this.#transfers, holdingKey(wallet, first.token), trade)
    ;(this.#byWallet[wallet] ??= []).push(trade)
    if (legs.length === 1) (this.#withCoin[wallet] ??= []).push(trade)
    for (const { token } of legs) {
      ;(this.#byToken[token] ??= []).push(trade)
      addTo(this.#byHolding, holdingKey(wallet, token), trade)
    }
  }

  /** Replaces everything. */
  load(trades: readonly LoggedTrade[]): void {
    this.#all = []
    this.#byWallet = []
    this.#withCoin = []
    this.#byToken = []
    this.#byHolding = new Map()
    this.#transfers = new Map()
    for (const trade of trades) this.add(trade)
  }

  ofWallet(wallet: number): readonly LoggedTrade[] {
    return this.#byWallet[wallet] ?? []
  }

  /** Trades of a wallet that have the coin on one side. */
  ofWalletWithCoin(wallet: number): readonly LoggedTrade[] {
    return this.#withCoin[wallet] ?? []
  }

  ofToken(token: number): readonly LoggedTrade[] {
    return this.#byToken[token] ?? []
  }

  /** Trades of a wallet with a token, without transfers. */
  ofHolding(wallet: number, token: number): readonly LoggedTrade[] {
    return this.#byHolding.get(holdingKey(wallet, token)) ?? []
  }

  /** The newest leg of a wallet with a token up to the entry `seq` of the log, transfers included. */
  legAsOf(wallet: number, token: number, seq: number): Leg | undefined {
    const key = holdingKey(wallet, token)
    const trade = newestUpTo(this.#byHolding.get(key) ?? [], seq)
    const transfer = newestUpTo(this.#transfers.get(key) ?? [], seq)
    const newest = (trade?.seq ?? -1) > (transfer?.seq ?? -1) ? trade : transfer
    return newest && legOf(newest, token)
  }
}

/** The newest trade up to the entry `seq` of the log. */
export function newestUpTo(trades: readonly LoggedTrade[], seq: number): LoggedTrade | undefined {
  return trades[countWhile(trades, (trade) => trade.seq <= seq) - 1]
}

function addTo(lists: Map<number, LoggedTrade[]>, key: number, trade: LoggedTrade): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [trade])
  else list.push(trade)
}
