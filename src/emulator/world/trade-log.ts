import type { Mark } from './numbers.ts'
import { countWhile } from '../sorted-list.ts'

/** A transaction of a wallet: one leg for a purchase, sale or transfer, two legs for a swap. Immutable. */
export interface LoggedTrade {
  readonly at: number
  readonly seq: number
  readonly wallet: number
  readonly legs: readonly [Leg, ...Leg[]]
  readonly impactPct: number
  /** Total gain (coins) and cost (millionths of a dollar) of positions that the wallet has closed so far. */
  readonly realized: bigint
  readonly realizedCost: bigint
}

/** Change of a wallet's balance in a token, with the state of wallet and token after it. USD in millionths. */
export interface Leg {
  readonly token: number
  /** A transfer moves units without a price: by a mint, or by removed liquidity. */
  readonly kind: 'buy' | 'sale' | 'transfer'
  readonly amount: bigint
  readonly coins: bigint
  readonly value: bigint
  readonly fee: bigint
  readonly balance: bigint
  readonly cost: bigint
  readonly mark: Mark
  readonly volume: bigint
}

/** Key of a wallet's holding in a token. */
export function holdingKey(wallet: number, token: number): number {
  return wallet * 2 ** 26 + token
}

/** The leg of a trade that is about a token. */
export function legOf(trade: LoggedTrade, token: number): Leg {
  const leg = trade.legs.find((one) => one.token === token)
  if (leg === undefined) throw new RangeError(`trade ${trade.seq} has no token ${token}`)
  return leg
}

// Each trade is stored as one line of text: objects would take three times the memory.

const betweenLegs = '|'

function toRow({ seq, at, wallet, impactPct, realized, realizedCost, legs }: LoggedTrade): string {
  const head = [seq, at, wallet, impactPct, realized, realizedCost].join()
  return [head, ...legs.map(legToText)].join(betweenLegs)
}

/** Balance and cost are omitted if they equal amount and value, as for a first purchase. */
function legToText({ token, kind, amount, coins, value, fee, mark, volume, balance, cost }: Leg): string {
  const held = balance === amount && cost === value ? [] : [balance, cost]
  return [token, letters[kind], amount, coins, value, fee, mark.mantissa, mark.exponent, volume, ...held].join()
}

function fromRow(row: string): LoggedTrade {
  const [head = '', first = '', ...others] = row.split(betweenLegs)
  const [seq, at, wallet, impactPct, realized = '', realizedCost = ''] = head.split(',')
  return {
    seq: Number(seq),
    at: Number(at),
    wallet: Number(wallet),
    impactPct: Number(impactPct),
    realized: BigInt(realized),
    realizedCost: BigInt(realizedCost),
    legs: [legFromText(first), ...others.map(legFromText)],
  }
}

function legFromText(text: string): Leg {
  const [token, letter = 't', amount = '', coins = '', value = '', fee = '', ...others] = text.split(',')
  const [mantissa, exponent, volume = '', balance = amount, cost = value] = others
  return {
    token: Number(token),
    kind: kinds[letter as keyof typeof kinds],
    amount: BigInt(amount),
    coins: BigInt(coins),
    value: BigInt(value),
    fee: BigInt(fee),
    mark: { mantissa: Number(mantissa), exponent: Number(exponent) },
    volume: BigInt(volume),
    balance: BigInt(balance),
    cost: BigInt(cost),
  }
}

const letters = { buy: 'b', sale: 's', transfer: 't' } as const
const kinds = { b: 'buy', s: 'sale', t: 'transfer' } as const

function seqOf(row: string): number {
  return Number.parseInt(row, 10)
}

function momentOf(row: string): number {
  return Number.parseInt(row.slice(row.indexOf(',') + 1), 10)
}

function hasToken(row: string, token: number): boolean {
  return row.includes(`${betweenLegs}${token},`)
}

/** Trades, oldest first. */
export class TradeList {
  readonly #rows: string[]

  constructor(rows: string[] = []) {
    this.#rows = rows
  }

  get length(): number {
    return this.#rows.length
  }

  push(row: string): void {
    this.#rows.push(row)
  }

  /** A negative index counts from the end. */
  at(index: number): LoggedTrade | undefined {
    const row = this.#rows.at(index)
    return row === undefined ? undefined : fromRow(row)
  }

  slice(from: number, to?: number): readonly LoggedTrade[] {
    return this.#rows.slice(from, to).map(fromRow)
  }

  /** Purchases and sales: trades with the coin on one side. */
  withCoin(): TradeList {
    return new TradeList(this.#rows.filter((row) => row.indexOf(betweenLegs) === row.lastIndexOf(betweenLegs)))
  }

  withToken(token: number): TradeList {
    return new TradeList(this.#rows.filter((row) => hasToken(row, token)))
  }

  /** Number of trades up to change `seq`. */
  countUpTo(seq: number): number {
    return countWhile(this.#rows, (row) => seqOf(row) <= seq)
  }

  /** Newest trade up to change `seq`. */
  newestUpTo(seq: number): LoggedTrade | undefined {
    return this.#lastOf(this.countUpTo(seq))
  }

  /** Newest trade before a moment. */
  newestBefore(at: number): LoggedTrade | undefined {
    return this.#lastOf(countWhile(this.#rows, (row) => momentOf(row) < at))
  }

  /** Newest trade of a token up to change `seq`. */
  newestWith(token: number, seq: number): LoggedTrade | undefined {
    return this.#lastOf(this.#rows.findLastIndex((row) => seqOf(row) <= seq && hasToken(row, token)) + 1)
  }

  /** The last of the first `count`. */
  #lastOf(count: number): LoggedTrade | undefined {
    return count === 0 ? undefined : this.at(count - 1)
  }
}

const noTrades = new TradeList()

/** Trades in order, one line of text each; 10,000 per portion, fewer in the last. */
export type TradePortion = readonly string[]

const rowsPerPortion = 10_000

/** Every change of a balance, oldest first, with indexes by wallet and token. Each leg has the state after it, so any moment can be read. */
export class TradeLog {
  #portions: string[][] = []
  #byWallet = new Map<number, TradeList>()
  #byToken = new Map<number, TradeList>()
  /** Transfers by wallet. */
  #transfers = new Map<number, TradeList>()

  /** All trades and transfers, for `load`. */
  portions(): readonly TradePortion[] {
    return this.#portions.map((rows) => (rows.length === rowsPerPortion ? rows : rows.slice()))
  }

  add(trade: LoggedTrade): void {
    const row = toRow(trade)
    const newest = this.#portions.at(-1)
    if (newest === undefined || newest.length === rowsPerPortion) this.#portions.push([row])
    else newest.push(row)
    this.#index(row)
  }

  /** Replaces everything. */
  load(portions: readonly TradePortion[]): void {
    // Full portions are shared with the snapshot: nothing is ever added to them.
    this.#portions = portions.map((rows) => (rows.length === rowsPerPortion ? (rows as string[]) : rows.slice()))
    for (const index of [this.#byWallet, this.#byToken, this.#transfers]) index.clear()
    for (const row of portions.flat()) this.#index(row)
  }

  #index(row: string): void {
    const [head = '', ...legs] = row.split(betweenLegs)
    const wallet = Number(head.split(',', 3)[2])
    if (legs[0]?.includes(letters.transfer)) return addTo(this.#transfers, wallet, row)
    addTo(this.#byWallet, wallet, row)
    for (const leg of legs) addTo(this.#byToken, Number.parseInt(leg, 10), row)
  }

  /** Trades of a wallet, without transfers. */
  ofWallet(wallet: number): TradeList {
    return this.#byWallet.get(wallet) ?? noTrades
  }

  ofToken(token: number): TradeList {
    return this.#byToken.get(token) ?? noTrades
  }

  /** Newest leg of a wallet with a token up to change `seq`, transfers included. */
  legAsOf(wallet: number, token: number, seq: number): Leg | undefined {
    const trade = this.ofWallet(wallet).newestWith(token, seq)
    const transfer = this.#transfers.get(wallet)?.newestWith(token, seq)
    const newest = (trade?.seq ?? -1) > (transfer?.seq ?? -1) ? trade : transfer
    return newest && legOf(newest, token)
  }
}

function addTo(lists: Map<number, TradeList>, key: number, row: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, new TradeList([row]))
  else list.push(row)
}
