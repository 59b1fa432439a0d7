import { expect, it } from 'vitest'
import type { WorldCommand } from '../../src/emulator/world/port.ts'
import { otherWallet, quietWorld, refusalOf, newWallet } from '../support/world.ts'

type Quiet = ReturnType<typeof stage>
type Case = [what: string, command: (quiet: Quiet) => WorldCommand, message: RegExp, setUp?: (q: Quiet) => void]

function stage() {
  const { first: token, second: other, ...rest } = quietWorld('refusals')
  const place = { network: rest.network, token }
  const solanaToken = rest.world.views.tokens().find(({ network }) => network === 'solana')!.address
  return { ...rest, ...place, other, place, solanaToken }
}

const buyNone = ({ buy }: Quiet) => void buy(100)
const trap = ({ act, place }: Quiet) => void act({ kind: 'honeypot', ...place, honeypot: 'blacklist' })
const purchase = (changes: object) => (quiet: Quiet) =>
  ({ kind: 'trade', wallet: otherWallet, side: 'buy', ...quiet.place, ...changes }) as WorldCommand
const sale = (changes: object) => purchase({ side: 'sell', wallet: newWallet, ...changes })
const transfer = (to: string) => (quiet: Quiet) => ({ kind: 'transfer-owner', ...quiet.place, to }) as WorldCommand
const addAlert = (changes: object) => (quiet: Quiet) => {
  const { network, token: address } = quiet
  const alert = { kind: 'add-alert', alertId: 'alrt_1', type: 'price_above', network, address, threshold: 5 } as const
  return { ...alert, ...changes }
}

const cases: readonly Case[] = [
  ...[0, -1, Number.NaN, Infinity, 1e15].flatMap((usd): Case[] => [
    [`a purchase for ${usd} USD`, purchase({ usd }), /^usd: /],
    [`a sale for ${usd} USD`, sale({ usd }), /^usd: /, buyNone],
  ]),
  ['a purchase of a fraction', purchase({ usd: 5, fraction: 0.5 }), /a purchase takes usd/],
  ['a sale by a wallet without a balance', sale({}), /it must buy some first/],
  ...[0, -0.5, 1.01, Number.NaN].map((fraction): Case => [`a sale of ${fraction}`, sale({ fraction }), /^fraction: /]),
  ['R99 a sale of a honeypot', sale({}), /nobody can sell it/, (quiet) => (buyNone(quiet), trap(quiet))],
  ['a second trap', (quiet) => ({ kind: 'honeypot', ...quiet.place, honeypot: 'blacklist' }), /honeypot already/, trap],
  [
    'a swap of a honeypot',
    ({ network, token, other }) => ({ kind: 'swap', network, wallet: newWallet, from: token, to: other }),
    /cannot swap/,
    (quiet) => (buyNone(quiet), trap(quiet)),
  ],
  ['R101 an owner that is no address', transfer('me'), /^to: expected 0x and 40 hex digits/],
  [
    'the same owner',
    transfer(newWallet.toLowerCase()),
    /already owns/,
    (quiet) => void quiet.act(transfer(newWallet)(quiet)),
  ],
  [
    'an owner after none',
    transfer(newWallet),
    /is renounced/,
    ({ act, place }) => void act({ kind: 'transfer-owner', ...place, to: null }),
  ],
  [
    'R102 a graduation off the curve',
    ({ solanaToken: token }) => ({ kind: 'graduate', token }),
    /is not on a bonding curve/,
  ],
  ...[0, -1, Infinity].map((threshold): Case => [
    `A17 an alert at ${threshold}`,
    addAlert({ threshold }),
    /^threshold: /,
  ]),
  ['a second alert of an id', addAlert({}), /already exists/, (quiet) => void quiet.act(addAlert({})(quiet))],
  ['removing an unknown alert', () => ({ kind: 'remove-alert', alertId: 'alrt_1' }), /alrt_1 does not exist/],
  ...[-1, Number.NaN, 1e6].map((factor): Case => [
    `activity ${factor}`,
    () => ({ kind: 'activity', factor }),
    /^factor: /,
  ]),
  [
    'A11 an address of the other family',
    ({ network, solanaToken }) => ({ kind: 'rug', network, token: solanaToken, percent: 5 }),
    /^token: expected .*this is a Solana address/,
  ],
]

it.each(cases)('a refused command changes nothing %s', (_what, command, message, setUp) => {
  const quiet = stage()
  setUp?.(quiet)
  expect(refusalOf(quiet.world, command(quiet))).toMatch(message)
})
