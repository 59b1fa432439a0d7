export type ExplorerKind = 'address' | 'transaction'

/** Patterns of a kind of network, and where its explorers show what matches. */
const evm = { address: [/^0x[0-9a-fA-F]{40}$/, 'address'], transaction: [/^0x[0-9a-fA-F]{64}$/, 'tx'] } as const
const solana = {
  address: [/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, 'account'],
  transaction: [/^[1-9A-HJ-NP-Za-km-z]{80,90}$/, 'tx'],
} as const

/** Public block explorers by network. */
const explorers = new Map([
  ['ethereum', { name: 'Etherscan', url: 'https://etherscan.io', places: evm }],
  ['bnb', { name: 'BscScan', url: 'https://bscscan.com', places: evm }],
  ['polygon', { name: 'PolygonScan', url: 'https://polygonscan.com', places: evm }],
  ['base', { name: 'BaseScan', url: 'https://basescan.org', places: evm }],
  ['avalanche', { name: 'Snowtrace', url: 'https://snowtrace.io', places: evm }],
  ['arbitrum', { name: 'Arbiscan', url: 'https://arbiscan.io', places: evm }],
  ['solana', { name: 'Solscan', url: 'https://solscan.io', places: solana }],
])

/** The page of an address or transaction in a public explorer; null if the value doesn't match the network's pattern. */
export function explorerLink(
  kind: ExplorerKind,
  network: unknown,
  value: unknown,
): { readonly name: string; readonly href: string } | null {
  const explorer = typeof network === 'string' ? explorers.get(network) : undefined
  if (explorer === undefined || typeof value !== 'string') return null
  const [pattern, folder] = explorer.places[kind]
  return pattern.test(value) ? { name: explorer.name, href: `${explorer.url}/${folder}/${value}` } : null
}
