import { describe, expect, it } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { ledgerProblems } from '../support/world-ledger.ts'
import { another as nobody, quietWorld, readLedger, refusalOf, somebody as wallet } from '../support/world.ts'

function stage() {
  const { first: token, second: other, ...rest } = quietWorld('refusals')
  return { ...rest, token, other }
}

const amounts = [0, -1, Number.NaN, Infinity, 1e15] as const

describe('a refusal changes nothing, and says what was expected', () => {
  it.each(amounts)('of a purchase for %s USD', (usd) => {
    const { world, network, token } = stage()
    const purchase = { kind: 'trade', network, wallet: nobody, side: 'buy', token } as const
    expect(refusalOf(world, { ...purchase, usd })).toMatch(
      /^usd: expected more than 0 and at most 1000000000, received /,
    )
    expect(refusalOf(world, { ...purchase, usd: 1e-18 })).toMatch(/buy nothing of/)
    expect(refusalOf(world, purchase)).toMatch(/needs `usd`/)
    expect(refusalOf(world, { ...purchase, usd: 5, fraction: 0.5 })).toMatch(/takes no `fraction`/)
  })

  it('of a sale by somebody who holds nothing, or of a part that is none', () => {
    const { world, network, token, buy } = stage()
    const sale = { kind: 'trade', network, wallet, side: 'sell', token } as const
    expect(refusalOf(world, sale)).toMatch(/it must buy some first/)
    buy(100)
    for (const fraction of [0, -0.5, 1.01, Number.NaN, Infinity]) {
      expect(refusalOf(world, { ...sale, fraction })).toMatch(
        /^fraction: expected more than 0 and at most 1, received /,
      )
    }
    expect(refusalOf(world, { ...sale, fraction: 1e-12 })).toMatch(/yields nothing/)
    for (const usd of amounts) expect(refusalOf(world, { ...sale, usd })).toMatch(/^usd: expected/)
    expect(refusalOf(world, { ...sale, usd: 10, fraction: 1 })).toMatch(/`usd` or `fraction`, not both/)
    expect(refusalOf(world, { ...sale, wallet: nobody })).toMatch(/it must buy some first/)
  })

  it('R99 of a sale of a honeypot', () => {
    const { world, network, token, buy, act } = stage()
    buy(100)
    act({ kind: 'honeypot', network, token, honeypot: 'blacklist' })
    expect(refusalOf(world, { kind: 'trade', network, wallet, side: 'sell', token })).toMatch(/nobody can sell it/)
    expect(refusalOf(world, { kind: 'honeypot', network, token, honeypot: 'blacklist' })).toMatch(/honeypot already/)
    expect(refusalOf(world, { kind: 'price-move', network, token, percent: -5 })).toMatch(/cannot get there/)
    expect(refusalOf(world, { kind: 'swap', network, wallet, from: token, to: stage().other })).toMatch(/cannot swap/)
  })

  it('R101 of an owner who is none, or is the same as before', () => {
    const { world, network, token, act } = stage()
    const transfer = { kind: 'transfer-owner', network, token } as const
    expect(refusalOf(world, { ...transfer, to: 'me' })).toMatch(/^to: expected 0x and 40 hex digits/)
    act({ ...transfer, to: wallet })
    expect(refusalOf(world, { ...transfer, to: wallet.toLowerCase() })).toMatch(/already owns/)
    act({ ...transfer, to: null })
    expect(refusalOf(world, { ...transfer, to: wallet })).toMatch(/is renounced/)
  })

  it('R102 of a graduation without a curve', () => {
    const { world, act } = stage()
    const [token] = world.views.tokens().filter(({ network }) => network === 'solana')
    expect(refusalOf(world, { kind: 'graduate', token: token!.address })).toMatch(/is not on a bonding curve/)
    const { token: graduated } = act({ kind: 'graduate' })
    expect(refusalOf(world, { kind: 'graduate', token: String(graduated) })).toMatch(/is not on a bonding curve/)
    expect(refusalOf(world, { kind: 'graduate', token: 'no address' })).toMatch(/^token: expected 32 bytes in base58/)
  })

  it('A17 of an alert that has no line, or whose id is taken', () => {
    const { world, network, token, act } = stage()
    const alert = {
      kind: 'add-alert',
      alertId: 'alrt_1',
      type: 'price_above',
      network,
      address: token,
      threshold: 5,
    } as const
    for (const threshold of [0, -1, Number.NaN, Infinity]) {
      expect(refusalOf(world, { ...alert, threshold })).toMatch(/^threshold: expected a number above 0/)
    }
    expect(refusalOf(world, { ...alert, address: 'nowhere' })).toMatch(/^address: expected/)
    act(alert)
    expect(refusalOf(world, alert)).toMatch(/already exists/)
  })

  it('of stories and triggers that no token is left for', () => {
    const { world, act } = stage()
    for (const { network, address } of world.views.tokens())
      act({ kind: 'honeypot', network, token: address, honeypot: 'sell_blocked' })
    for (const story of ['whale', 'crash', 'bag-holder'] as const) {
      expect(refusalOf(world, { kind: 'story', story })).toMatch(/^no network has/)
    }
    for (const type of [
      'wallet.large_trade',
      'wallet.new_position',
      'wallet.pnl_milestone',
      'token.risk_change',
    ] as const) {
      expect(refusalOf(world, { kind: 'trigger', type })).not.toBe('not refused')
    }
    act({ kind: 'thresholds', milestonesUsd: [] })
    expect(refusalOf(world, { kind: 'trigger', type: 'wallet.pnl_milestone' })).toMatch(/no milestones are set/)
  })

  it('A11 of addresses of the other family, whatever the act', () => {
    const { world } = stage()
    for (const network of networkIds.filter((id) => id !== 'ethereum')) {
      const foreign =
        network === 'solana' ? wallet : world.views.tokens().find((one) => one.network === 'solana')!.address
      expect(refusalOf(world, { kind: 'rug', network, token: foreign, percent: 5 })).toMatch(
        /^token: expected .*this is a/,
      )
      expect(refusalOf(world, { kind: 'track', network, wallet: foreign, isTracked: true })).toMatch(
        /^wallet: expected/,
      )
    }
  })
})

describe('a contract with a tax', () => {
  it('R95 leaves the tax of a sale in the pool', () => {
    const { world, act } = stage()
    act({ kind: 'thresholds', riskSensitivity: 55 })
    const { token, network } = act({ kind: 'trigger', type: 'token.risk_change' })
    const place = world.views.tokens().find((one) => one.network === network && one.address === token)!
    const taxed = () => readLedger(world).state.tokens[place.index]!
    expect(taxed().contract.sellTaxBps).toBe(2000)
    const who = world.views.wallets().find((one) => one.network === place.network && one.archetype === 'whale')!.address
    const trade = { kind: 'trade', network: place.network, wallet: who, token: place.address } as const
    act({ ...trade, side: 'buy', usd: 1000 })
    const pool = taxed().pool!
    const { balance } = readLedger(world).state.holdings.find((one) => one.token === place.index && one.cost > 0n)!
    act({ ...trade, side: 'sell', fraction: 1 })
    expect(taxed().pool!.tokens - pool.tokens).toBe(balance)
    expect(ledgerProblems(world)).toEqual([])
    const { pnl } = world.views.pnl(world.views.findWallet(place.network, who)!, 'all')
    expect(pnl.realized_usd).toBeLessThan(-200)
    expect(pnl.realized_usd).toBeGreaterThan(-220)
  })
})
