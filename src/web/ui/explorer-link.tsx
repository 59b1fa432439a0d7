import { Anchor } from '@mantine/core'
import { explorerLink, type ExplorerKind } from './explorers.ts'
import { shortAddress } from './format.ts'

export interface ExplorerLinkProps {
  readonly kind: ExplorerKind
  readonly network: unknown
  readonly value: unknown
}

/** A link to a public explorer, which is only asked when somebody follows it; nothing where the value is none of the network. */
export function ExplorerLink({ kind, network, value }: ExplorerLinkProps) {
  const link = explorerLink(kind, network, value)
  if (link === null) return null
  return (
    <Anchor
      href={link.href}
      target="_blank"
      rel="noreferrer noopener"
      size="sm"
      aria-label={`${link.name}: ${shortAddress(String(value))}`}
    >
      {link.name}
    </Anchor>
  )
}
