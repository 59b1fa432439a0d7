/** A constant-product pool: `coins` · `tokens` never falls except when liquidity is taken out. Base units. */
export interface Pool {
  coins: bigint
  tokens: bigint
}

export interface Quote {
  readonly paid: bigint
  readonly received: bigint
  /** Part of `paid` that stays with the pool's owners. */
  readonly fee: bigint
  /** How far the trade moves the price against itself, in percent to a millionth. */
  readonly impactPct: number
}

const bps = 10_000n

/** out = a(1−f)·y / (x + a(1−f)), rounded down. */
export function quoteBuy(pool: Pool, coins: bigint, feeBps: number): Quote {
  return quote(pool.coins, pool.tokens, coins, feeBps)
}

export function quoteSell(pool: Pool, tokens: bigint, feeBps: number): Quote {
  return quote(pool.tokens, pool.coins, tokens, feeBps)
}

function quote(reserveIn: bigint, reserveOut: bigint, paid: bigint, feeBps: number): Quote {
  const net = (paid * (bps - BigInt(feeBps))) / bps
  const received = (net * reserveOut) / (reserveIn + net)
  return { paid, received, fee: paid - net, impactPct: Number((net * 100_000_000n) / (reserveIn + net)) / 1e6 }
}

/** Less than this on a side is dust, which no price can be made of. */
const leastReserve = 1_000_000n

/** Whether more than dust stays in a pool. */
export function canWithdraw({ coins, tokens }: Pool, bpsTaken: number): boolean {
  const left = bps - BigInt(bpsTaken)
  return (coins * left) / bps >= leastReserve && (tokens * left) / bps >= leastReserve
}

/** Takes `bpsTaken` hundredths of a percent of both sides out: the price stays as it is. */
export function withdraw(pool: Pool, bpsTaken: number): { readonly coins: bigint; readonly tokens: bigint } {
  const coins = (pool.coins * BigInt(bpsTaken)) / bps
  const tokens = (pool.tokens * BigInt(bpsTaken)) / bps
  pool.coins -= coins
  pool.tokens -= tokens
  return { coins, tokens }
}
