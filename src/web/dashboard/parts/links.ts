import type { HrefOf } from '../../ui/event-line.tsx'

/** Where a token or a wallet is shown; undefined for what is no address of a network. */
export const hrefOf: HrefOf = (kind, network, address) =>
  typeof network === 'string' && typeof address === 'string'
    ? `#/${kind}s/${encodeURIComponent(network)}/${encodeURIComponent(address)}`
    : undefined

export function deliveryHref(id: string): string {
  return `#/deliveries/${encodeURIComponent(id)}`
}
