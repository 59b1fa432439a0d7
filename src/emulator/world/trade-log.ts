import { createTable, RowList, type RowOf, type Table } from './columns.ts'

/** One transaction of a wallet: one leg for a purchase, a sale or a transfer, two legs for a swap. */
const tradeColumns = {
  at: 'f64',
  seq: 'u32',
  wallet: 'u32',
  leg: 'u32',
  legCount: 'u8',
  impactPct: 'f64',
  /** Gain (in coins) and cost of all positions that the wallet has closed so far. */
  realized: 'i128',
  realizedCost: 'i64',
} as const

/** What a leg did to the balance. A transfer is a mint, or liquidity taken out: units without a price. */
export const legKinds = { buy: 0, sale: 1, transfer: 2 } as const
export type LegKind = keyof typeof legKinds

/** How the balance of a wallet in a token changed, and how wallet and token stood afterwards. USD in millionths. */
const legColumns = {
  trade: 'u32',
  token: 'u32',
  kind: 'u8',
  dex: 'u8',
  amount: 'i128',
  coins: 'i128',
  value: 'i64',
  fee: 'i64',
  balance: 'i128',
  cost: 'i64',
  mantissa: 'f64',
  exponent: 'i16',
  volume: 'i64',
} as const

export type TradeRow = RowOf<typeof tradeColumns>
export type LegRow = RowOf<typeof legColumns>

/** Names the holding of a wallet in a token. */
export function holdingKey(wallet: number, token: number): number {
  return wallet * 2 ** 26 + token
}

/**
 * Every change of a balance, oldest first, and the lists to find them by. Each row holds the state after it, so any
 * earlier moment can be read again.
 */
export class TradeLog {
  readonly trades: Table<typeof tradeColumns> = createTable(tradeColumns)
  readonly legs: Table<typeof legColumns> = createTable(legColumns)
  readonly #byWallet: RowList[] = []
  readonly #withCoin: RowList[] = []
  readonly #byToken: RowList[] = []
  readonly #byHolding = new Map<number, RowList>()
  readonly #transfers = new Map<number, RowList>()

  add(trade: Omit<TradeRow, 'leg' | 'legCount'>, legs: readonly Omit<LegRow, 'trade'>[]): number {
    const row = this.trades.add({ ...trade, leg: this.legs.length, legCount: legs.length })
    for (const leg of legs) this.legs.add({ ...leg, trade: row })
    this.#index(row)
    return row
  }

  /** Trades of a wallet. */
  ofWallet(wallet: number): RowList {
    return (this.#byWallet[wallet] ??= new RowList())
  }

  /** Trades of a wallet that have the coin on one side. */
  ofWalletWithCoin(wallet: number): RowList {
    return (this.#withCoin[wallet] ??= new RowList())
  }

  /** Legs of a token. */
  ofToken(token: number): RowList {
    return (this.#byToken[token] ??= new RowList())
  }

  /** Legs of the trades of a wallet with a token. */
  ofHolding(wallet: number, token: number): RowList {
    return listAt(this.#byHolding, holdingKey(wallet, token))
  }

  /** The newest leg of a wallet with a token up to the entry `seq` of the log, transfers included; -1 if there is none. */
  legAsOf(wallet: number, token: number, seq: number): number {
    const isUpToSeq = (leg: number) => this.trades.get(this.legs.get(leg, 'trade'), 'seq') <= seq
    const newest = (list?: RowList) => list?.at(list.countWhile(isUpToSeq) - 1) ?? -1
    const key = holdingKey(wallet, token)
    return Math.max(newest(this.#byHolding.get(key)), newest(this.#transfers.get(key)))
  }

  /** Finds everything anew, after the tables were loaded. */
  reindex(): void {
    this.#byWallet.length = 0
    this.#withCoin.length = 0
    this.#byToken.length = 0
    this.#byHolding.clear()
    this.#transfers.clear()
    for (let row = 0; row < this.trades.length; row++) this.#index(row)
  }

  #index(row: number): void {
    const { trades, legs } = this
    const wallet = trades.get(row, 'wallet')
    const first = trades.get(row, 'leg')
    const count = trades.get(row, 'legCount')
    if (legs.get(first, 'kind') === legKinds.transfer) {
      listAt(this.#transfers, holdingKey(wallet, legs.get(first, 'token'))).push(first)
      return
    }
    this.ofWallet(wallet).push(row)
    if (count === 1) this.ofWalletWithCoin(wallet).push(row)
    for (let leg = first; leg < first + count; leg++) {
      const token = legs.get(leg, 'token')
      this.ofToken(token).push(leg)
      this.ofHolding(wallet, token).push(leg)
    }
  }
}

function listAt(lists: Map<number, RowList>, key: number): RowList {
  const list = lists.get(key) ?? new RowList()
  if (list.length === 0) lists.set(key, list)
  return list
}
