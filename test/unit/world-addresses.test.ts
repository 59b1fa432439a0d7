import { isAddress as isSolanaAddress, isOffCurveAddress, isSignature, type Address } from '@solana/kit'
import fc from 'fast-check'
import { getAddress, isAddress, isHash, keccak256 } from 'viem'
import { expect, it } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { parseAddress, toChecksumAddress, toPumpMint, toTxHash, toAddress } from '../../src/emulator/world/addresses.ts'

const evmNetworks = networkIds.filter((network) => network !== 'solana')
const entropy = fc.uint8Array({ minLength: 32, maxLength: 32 })
const vectors = [
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0xde709f2102306220921060314715629080e2fb77',
]

it('A9 a wallet address of EVM networks is the tail of a Keccak-256 hash with the checksum of viem', () => {
  fc.assert(
    fc.property(entropy, fc.constantFrom(...evmNetworks), (bytes, network) => {
      const address = toAddress(network, bytes)
      expect(address).toBe(getAddress(`0x${keccak256(bytes).slice(-40)}`))
    }),
  )
})

it('A9 EVM: parses any case and returns the published checksum', () => {
  for (const address of vectors) expect(toChecksumAddress(address.slice(2).toLowerCase())).toBe(address)
  for (const network of evmNetworks) {
    for (const address of vectors) {
      for (const text of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
        expect(parseAddress(network, text)).toEqual({ ok: true, address })
        expect(parseAddress(network, text, { strictChecksum: true })).toEqual({ ok: true, address })
      }
    }
  }
})

it('A9 EVM: rejects a wrong checksum only if strict', () => {
  fc.assert(
    fc.property(entropy, fc.nat(39), (bytes, at) => {
      const address = toAddress('ethereum', bytes)
      const letter = address.charAt(at + 2)
      const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
      const text = `${address.slice(0, at + 2)}${flipped}${address.slice(at + 3)}`
      expect(parseAddress('ethereum', text)).toEqual({ ok: true, address })
      // An address in upper case alone has no checksum; viem rejects it.
      const isValid = isAddress(text) || /^0x[\dA-F]*$/.test(text)
      expect(parseAddress('ethereum', text, { strictChecksum: true }).ok).toBe(isValid)
    }),
  )
})

it('A9 wallets and mints of Solana are base58 of a point on the curve', () => {
  fc.assert(
    fc.property(entropy, (bytes) => {
      for (const address of [toAddress('solana', bytes), toPumpMint(bytes)]) {
        expect(isSolanaAddress(address)).toBe(true)
        expect(isOffCurveAddress(address as Address)).toBe(false)
        expect(parseAddress('solana', address)).toEqual({ ok: true, address })
      }
    }),
    { numRuns: 40 },
  )
})

it('A9 Solana: accepts the same texts as kit', () => {
  const base58 = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{30,46}$/)
  fc.assert(
    fc.property(fc.oneof(base58, fc.string({ maxLength: 50 })), (text) => {
      expect(parseAddress('solana', text).ok).toBe(isSolanaAddress(text))
    }),
  )
})

it('A11 every network rejects an address of the other family and names it', () => {
  const evm = toAddress('base', new Uint8Array(32))
  const solana = toAddress('solana', new Uint8Array(32))
  expect(parseAddress('solana', evm)).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/is an EVM address/),
  })
  for (const network of evmNetworks) {
    expect(parseAddress(network, solana)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/is a Solana address/),
    })
  }
})

it.each([
  '',
  '0x',
  'vitalik.eth',
  `0x${'0'.repeat(39)}`,
  `0x${'0'.repeat(41)}`,
  `0X${'0'.repeat(40)}`,
  `0x${'g'.repeat(40)}`,
])('A11 every network rejects %j with the expectation', (text) => {
  for (const network of networkIds) {
    expect(parseAddress(network, text)).toMatchObject({ ok: false, problem: expect.stringMatching(/^expected /) })
  }
})

it('A10 hashes are 0x and 64 lower-case hex digits, or base58 of 64 bytes with 87 or 88 letters', () => {
  const seen = new Set<string>()
  for (let seq = 1; seq <= 20_000; seq++) {
    const hash = toTxHash('solana', 'seed', seq)
    // A leading zero byte, shown as 1, would make it too short.
    if (!isSignature(hash) || hash.length < 87 || hash.startsWith('1'))
      expect.fail(`${hash} of ${seq} may be too short`)
    seen.add(hash)
  }
  for (const network of evmNetworks) {
    const hash = toTxHash(network, 'seed', 1)
    expect(isHash(hash)).toBe(true)
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    seen.add(hash)
  }
  expect(seen.size).toBe(20_000 + evmNetworks.length)
})
