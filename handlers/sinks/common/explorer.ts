import type { AnyEvent } from 'onchain-inbox'

export interface ExplorerLink {
  readonly label: string
  readonly url: string
}

type Kind = 'address' | 'tx' | 'token'

interface Explorer {
  readonly base: string
  readonly paths: Readonly<Record<Kind, string>>
  readonly shapes: Readonly<Record<Kind, RegExp>>
}

const evmAddress = /^0x[0-9a-fA-F]{40}$/
const base58 = '[1-9A-HJ-NP-Za-km-z]'
const solanaAddress = new RegExp(`^${base58}{32,44}$`)

function evm(base: string): Explorer {
  return {
    base,
    paths: { address: 'address', tx: 'tx', token: 'token' },
    shapes: { address: evmAddress, tx: /^0x[0-9a-fA-F]{64}$/, token: evmAddress },
  }
}

/** One for each network of the service (R4). */
const explorers: ReadonlyMap<string, Explorer> = new Map([
  ['ethereum', evm('https://etherscan.io')],
  ['bnb', evm('https://bscscan.com')],
  ['polygon', evm('https://polygonscan.com')],
  ['base', evm('https://basescan.org')],
  ['avalanche', evm('https://snowtrace.io')],
  ['arbitrum', evm('https://arbiscan.io')],
  [
    'solana',
    {
      base: 'https://solscan.io',
      paths: { address: 'account', tx: 'tx', token: 'token' },
      shapes: { address: solanaAddress, tx: new RegExp(`^${base58}{64,88}$`), token: solanaAddress },
    },
  ],
])

/** Fields of `data` that an explorer has a page on, what the link is called, and the kind of page. In the order of the links. */
const fields: readonly (readonly [field: string, label: string, kind: Kind])[] = [
  ['tx_hash', 'transaction', 'tx'],
  ['listing_tx', 'transaction', 'tx'],
  ['migration_tx', 'transaction', 'tx'],
  ['token_address', 'token', 'token'],
  ['contract_address', 'contract', 'address'],
  ['wallet_address', 'wallet', 'address'],
  ['pool_address', 'pool', 'address'],
  ['raydium_pool', 'pool', 'address'],
  ['previous_owner', 'previous owner', 'address'],
  ['new_owner', 'new owner', 'address'],
]

/** The network of an event as it says it; the one type without that field happens on Solana only (R102). Null: none. */
export function networkOf({ type, data }: AnyEvent): string | null {
  const { network } = data as Readonly<Record<string, unknown>>
  if (typeof network === 'string' && network !== '') return network
  return type === 'pump.graduation' ? 'solana' : null
}

/**
 * Pages of the network's block explorer on what the event is about. What is no address or transaction of that network gets no
 * link, and a link leads to no other host, whatever the event holds.
 */
export function explorerLinks(event: AnyEvent): readonly ExplorerLink[] {
  const explorer = explorers.get(networkOf(event) ?? '')
  if (explorer === undefined) return []
  const data = event.data as Readonly<Record<string, unknown>>
  return fields.flatMap(([field, label, kind]) => {
    const value = Object.hasOwn(data, field) ? data[field] : undefined
    if (typeof value !== 'string' || !explorer.shapes[kind].test(value)) return []
    return [{ label, url: `${explorer.base}/${explorer.paths[kind]}/${value}` }]
  })
}
