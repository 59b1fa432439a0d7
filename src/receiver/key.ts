const maxPartLength = 128
const evmAddress = /^0x[0-9a-fA-F]{40}$/

/** What order is kept by, and the parts it is made of. */
export interface EventKey {
  readonly key: string
  readonly network: string | null
  readonly address: string | null
}

interface KeyedEvent {
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/**
 * The key of an event: `network:address` of the token, wallet or contract that it is about. Tokens and contracts share a
 * namespace. An event of another type, or one without these fields, gets its own id, which means no order. EVM addresses are
 * compared in lower case, everything else as it came (A9).
 */
export function keyOf(event: KeyedEvent): EventKey {
  const network = event.type === 'pump.graduation' ? 'solana' : part(event.data['network'])
  const address = part(event.data[addressField(event.type)])
  if (network === null || address === null || network.includes(':')) {
    return { key: event.id, network: null, address: null }
  }
  const normalized = evmAddress.test(address) ? address.toLowerCase() : address
  return { key: `${network}:${normalized}`, network, address: normalized }
}

function addressField(type: string): string {
  if (type.startsWith('token.') || type === 'pump.graduation') return 'token_address'
  if (type.startsWith('wallet.')) return 'wallet_address'
  if (type.startsWith('contract.')) return 'contract_address'
  return ''
}

function part(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= maxPartLength && value.isWellFormed()
    ? value
    : null
}
