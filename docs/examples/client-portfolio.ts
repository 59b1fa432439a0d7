import type { ApiClient, ArgumentsOf } from 'onchain-inbox/client'

/** The largest positions of a wallet, by value, and what they are worth together. */
export async function largestPositions(api: ApiClient, wallet: ArgumentsOf<'getWallet'>, count = 3) {
  const positions = []
  // Large pages: each page is a request.
  for await (const position of api.getWalletPortfolio({ ...wallet, limit: 100 })) positions.push(position)
  const largest = positions.toSorted((a, b) => b.value_usd - a.value_usd).slice(0, count)
  const totalUsd = largest.reduce((sum, { value_usd }) => sum + value_usd, 0)
  return { symbols: largest.map(({ symbol }) => symbol), totalUsd, of: positions.length }
}
