import { createTable, RowList, type RowOf, type Table } from './columns.ts'

/** One transaction of a wallet: one leg for a purchase or a sale, two for a swap. */
const tradeColumns = {
  at: 'f64',
  seq: 'u32',
  wallet: 'u32',
  leg: 'u32',
  legCount: 'u8',
  impactPct: 'f64',
  /** Gain and cost of all positions that the wallet has closed so far. */
  realized: 'i64',
  realizedCost: 'i64',
} as const

/** One exchange between a token and the coin, and how the wallet and the token stood after it. USD in millionths. */
const legColumns = {
  trade: 'u32',
  token: 'u32',
  isSale: 'u8',
  dex: 'u8',
  amount: 'u128',
  coins: 'u128',
  value: 'i64',
  fee: 'i64',
  balance: 'u128',
  cost: 'i64',
  mantissa: 'f64',
  exponent: 'i16',
  volume: 'i64',
} as const

export type TradeRow = RowOf<typeof tradeColumns>
export type LegRow = RowOf<typeof legColumns>

/**
 * All trades, oldest first, and the lists to find them by. Since each row says how things stood after it, any earlier
 * moment can be read again.
 */
export class TradeLog {
  readonly trades: Table<typeof tradeColumns> = createTable(tradeColumns)
  readonly legs: Table<typeof legColumns> = createTable(legColumns)
  readonly #byWallet: RowList[] = []
  readonly #withCoin: RowList[] = []
  readonly #byToken: RowList[] = []
  readonly #byHolding = new Map<number, RowList>()

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

  /** Legs of a wallet with a token. */
  ofHolding(wallet: number, token: number): RowList {
    const key = wallet * 2 ** 26 + token
    let list = this.#byHolding.get(key)
    if (list === undefined) {
      list = new RowList()
      this.#byHolding.set(key, list)
    }
    return list
  }

  /** Finds everything anew, after the tables were loaded. */
  reindex(): void {
    this.#byWallet.length = 0
    this.#withCoin.length = 0
    this.#byToken.length = 0
    this.#byHolding.clear()
    for (let row = 0; row < this.trades.length; row++) this.#index(row)
  }

  #index(row: number): void {
    const { trades, legs } = this
    const wallet = trades.get(row, 'wallet')
    const first = trades.get(row, 'leg')
    const count = trades.get(row, 'legCount')
    this.ofWallet(wallet).push(row)
    if (count === 1) this.ofWalletWithCoin(wallet).push(row)
    for (let leg = first; leg < first + count; leg++) {
      const token = legs.get(leg, 'token')
      this.ofToken(token).push(leg)
      this.ofHolding(wallet, token).push(leg)
    }
  }
}
