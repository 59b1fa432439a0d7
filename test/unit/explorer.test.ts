import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toMessage } from '../../handlers/sinks/common/message.ts'
import { networkIds, type AnyEvent } from '../../schema/index.ts'

const hosts: Readonly<Record<string, string>> = {
  ethereum: 'etherscan.io',
  bnb: 'bscscan.com',
  polygon: 'polygonscan.com',
  base: 'basescan.org',
  avalanche: 'snowtrace.io',
  arbitrum: 'arbiscan.io',
  solana: 'solscan.io',
}
const evm = `0x${'aB'.repeat(20)}`
const tx = `0x${'0f'.repeat(32)}`
const mint = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'
const signature = '5'.repeat(88)

function anEvent(data: Record<string, unknown>, type = 'x.y'): AnyEvent {
  return { id: 'evt_1', type, created_at: '2026-01-31T14:03:22Z', data }
}

const linksOf = (event: AnyEvent) => toMessage(event).links

test.each(networkIds)('R4 explorer links lead to the explorer of %s', (network) => {
  const isSolana = network === 'solana'
  const [address, hash] = isSolana ? [mint, signature] : [evm, tx]
  const event = anEvent({ network, token_address: address, wallet_address: address, tx_hash: hash })
  expect(linksOf(event)).toEqual([
    { label: 'token', url: `https://${hosts[network]}/token/${address}` },
    { label: 'wallet', url: `https://${hosts[network]}/${isSolana ? 'account' : 'address'}/${address}` },
    { label: 'transaction', url: `https://${hosts[network]}/tx/${hash}` },
  ])
})

test('R102 explorer links use Solana for pump.graduation, which has no network', () => {
  expect(linksOf(anEvent({ token_address: mint }, 'pump.graduation'))).toEqual([
    { label: 'token', url: `https://solscan.io/token/${mint}` },
  ])
  expect(linksOf(anEvent({ token_address: mint }))).toEqual([])
})

test.each([
  ['an unknown network', { network: 'tron', token_address: evm }],
  ['a property of Object.prototype as network', { network: 'constructor', token_address: evm }],
  ['an address of another kind of network', { network: 'ethereum', token_address: mint }],
  ['a path as address', { network: 'ethereum', token_address: '../../login' }],
  ['an address followed by a path', { network: 'ethereum', token_address: `${evm}/..\n` }],
  ['a number', { network: 'ethereum', tx_hash: 12 }],
  ['an invalid transaction', { network: 'solana', tx_hash: '0OIl'.repeat(20) }],
])('explorer links are missing for %s', (_what, data) => {
  expect(linksOf(anEvent(data))).toEqual([])
})

test('explorer links lead to no other host', () => {
  const odd = fc.oneof(fc.string(), fc.constantFrom(evm, tx, mint, signature, `${evm}#`, '//x.y', '\u202e\ud800', 'é'))
  const data = fc.record({
    network: fc.constantFrom(...networkIds),
    token_address: odd,
    wallet_address: odd,
    pool_address: odd,
    tx_hash: odd,
    new_owner: odd,
  })
  fc.assert(
    fc.property(data, (fields) => {
      for (const { url } of linksOf(anEvent(fields))) {
        const { origin, pathname, search, hash } = new URL(url)
        expect([origin, search, hash]).toEqual([`https://${hosts[fields.network]}`, '', ''])
        expect(pathname).toMatch(/^\/(?:address|account|token|tx)\/\w+$/)
      }
    }),
  )
})
