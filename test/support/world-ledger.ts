import { networkIds } from '../../schema/index.ts'
import { migrationTokens } from '../../src/emulator/world/exchange.ts'
import type { TokenState, WorldState } from '../../src/emulator/world/state.ts'
import type { World } from '../../src/emulator/world/world.ts'
import { readLedger } from './world.ts'

/** Violations of the ledger: coins and tokens that don't add up, or negative amounts. */
export function ledgerProblems(world: World): readonly string[] {
  const { state } = readLedger(world)
  return [
    ...state.tokens.flatMap((token, index) => tokenProblems(state, token, index)),
    ...coinProblems(state),
    ...walletProblems(state),
  ]
}

function tokenProblems(state: WorldState, token: TokenState, index: number): string[] {
  const { symbol, supply, pool, curve } = token
  const balances = state.holdings.filter((holding) => holding.token === index).map(({ balance }) => balance)
  const onCurve = curve === null ? 0n : curve.realTokens + migrationTokens
  const sum = total(balances) + (pool?.tokens ?? 0n) + onCurve
  return problems(symbol, [
    [sum === supply, `balances, pool and curve sum up to ${sum}, not to the supply ${supply}`],
    [balances.every((balance) => balance >= 0n), 'a balance is negative'],
    [pool === null || (pool.coins > 0n && pool.tokens > 0n), 'its pool is empty'],
    [curve === null || (curve.realTokens >= 0n && curve.realCoins >= 0n), 'its curve has negative reserves'],
    [(pool === null) !== (curve === null), 'it has no market, or two'],
  ])
}

function coinProblems(state: WorldState): string[] {
  return networkIds.flatMap((network) => {
    const { minted, elsewhere } = state.networks[network]
    const tokens = state.tokens.filter((token) => token.network === network)
    const held = total(state.wallets.flatMap((wallet) => (wallet.network === network ? [wallet.coins] : [])))
    const inPools = total(tokens.map(({ pool, curve }) => (pool?.coins ?? 0n) + (curve?.realCoins ?? 0n)))
    const sum = held + inPools + elsewhere
    return problems(network, [[sum === minted, `${sum} coins exist, ${minted} were minted`]])
  })
}

function walletProblems(state: WorldState): string[] {
  return state.wallets.flatMap(({ address, coins, open, holdings }) => {
    const held = holdings.filter((index) => (state.holdings[index]?.balance ?? 0n) > 0n)
    const isSame = held.length === open.size && held.every((index) => open.has(index))
    const empty = holdings.map((index) => state.holdings[index]).filter((holding) => holding?.balance === 0n)
    return problems(address, [
      [coins >= 0n, 'its coins are negative'],
      [isSame, `${held.length} balances are not empty, ${open.size} are listed as open`],
      [empty.every((holding) => holding?.cost === 0n), 'an empty holding has a cost'],
      [new Set(holdings).size === holdings.length, 'a holding is listed twice'],
    ])
  })
}

export function problems(of: string, checks: readonly (readonly [boolean, string])[]): string[] {
  return checks.flatMap(([isGood, problem]) => (isGood ? [] : [`${of}: ${problem}`]))
}

function total(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n)
}
