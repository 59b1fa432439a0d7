import { expect, test } from 'vitest'
import { eventSamples } from '../fixtures/event-samples.ts'
import { keyOf } from '../../src/receiver/envelope.ts'

const solana = '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU'
const evm = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ownKey = { key: 'evt_1', network: null, address: null }
const keyFor = (type: string, data: Readonly<Record<string, unknown>>) => keyOf({ id: 'evt_1', type, data })

test('the key of each documented type is its network and address', () => {
  const token = 'ethereum:0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359'
  const wallet = `ethereum:${evm.toLowerCase()}`
  const expected = { token, wallet, contract: token, pump: `solana:${solana}` }
  for (const event of Object.values(eventSamples))
    expect(keyOf(event).key).toBe(Object.entries(expected).find(([family]) => event.type.startsWith(family))?.[1])
})

test('a token and a contract with the same address share a key', () => {
  const token = keyFor('token.risk_change', { network: 'base', token_address: evm })
  expect(keyFor('contract.honeypot_detected', { network: 'base', contract_address: evm })).toEqual(token)
})

test('a graduation is always on Solana', () => {
  expect(keyFor('pump.graduation', { network: 'base', token_address: solana }).key).toBe(`solana:${solana}`)
})

const good = { network: 'ethereum', wallet_address: evm }
test.each<[string, string, Record<string, unknown>]>([
  ['its type is not known', 'nft.minted', { ...good, token_address: evm }],
  ['its type only begins like a known one', 'wallets.large_trade', good],
  ['its network is empty', 'wallet.large_trade', { ...good, network: '' }],
  ['its network holds a colon', 'wallet.large_trade', { ...good, network: 'ethereum:0xabc' }],
  ['its network is no text', 'wallet.large_trade', { ...good, network: ['ethereum'] }],
  ['its address is missing', 'wallet.large_trade', { network: 'ethereum' }],
  ['it has the address of another family', 'wallet.large_trade', { network: 'ethereum', token_address: evm }],
  ['its address is ill-formed', 'wallet.large_trade', { ...good, wallet_address: '\ud800' }],
  ['its address is very long', 'wallet.large_trade', { ...good, wallet_address: 'a'.repeat(129) }],
])('an event has its id as key if %s', (_, type, data) => {
  expect(keyFor(type, data)).toEqual(ownKey)
})
