/** A public block explorer, and the patterns of its network's addresses and transactions. */
interface Explorer {
  readonly name: string
  readonly url: string
  readonly paths: Readonly<Record<ExplorerKind, string>>
  readonly forms: Readonly<Record<ExplorerKind, RegExp>>
}

export type ExplorerKind = 'address' | 'transaction'

const evm = {
  paths: { address: 'address', transaction: 'tx' },
  forms: { address: /^0x[0-9a-fA-F]{40}$/, transaction: /^0x[0-9a-fA-F]{64}$/ },
} as const

const explorers: ReadonlyMap<string, Explorer> = new Map([
  ['ethereum', { name: 'Etherscan', url: 'https://etherscan.io', ...evm }],
  ['bnb', { name: 'BscScan', url: 'https://bscscan.com', ...evm }],
  ['polygon', { name: 'PolygonScan', url: 'https://polygonscan.com', ...evm }],
  ['base', { name: 'BaseScan', url: 'https://basescan.org', ...evm }],
  ['avalanche', { name: 'Snowtrace', url: 'https://snowtrace.io', ...evm }],
  ['arbitrum', { name: 'Arbiscan', url: 'https://arbiscan.io', ...evm }],
  [
    'solana',
    {
      name: 'Solscan',
      url: 'https://solscan.io',
      paths: { address: 'account', transaction: 'tx' },
      forms: { address: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/, transaction: /^[1-9A-HJ-NP-Za-km-z]{80,90}$/ },
    },
  ],
])

/** The page of an address or transaction in a public explorer; null if the value doesn't match the network's pattern. */
export function explorerLink(
  kind: ExplorerKind,
  network: unknown,
  value: unknown,
): { readonly name: string; readonly href: string } | null {
  const explorer = typeof network === 'string' ? explorers.get(network) : undefined
  if (explorer === undefined || typeof value !== 'string' || !explorer.forms[kind].test(value)) return null
  return { name: explorer.name, href: `${explorer.url}/${explorer.paths[kind]}/${value}` }
}
