import { Anchor } from '@mantine/core'
import { CopyButton } from './copy-button.tsx'
import { shortAddress } from './format.ts'
import { toVisible } from './plain-text.tsx'

export interface AddressProps {
  readonly value: unknown
  /** Where it leads. */
  readonly href?: string
  /** Default: its ends alone. */
  readonly isFull?: boolean
}

/** An address, hash or id: its ends, the whole of it on hover, and a button that copies it. */
export function Address({ value, href, isFull = false }: AddressProps) {
  if (typeof value !== 'string' || value === '') return <>–</>
  const shown = toVisible(isFull ? value : shortAddress(value))
  return (
    <span className={isFull ? 'ui-address ui-address-full' : 'ui-address'}>
      {href === undefined ? (
        <code title={value}>{shown}</code>
      ) : (
        <Anchor href={href} title={value}>
          <code>{shown}</code>
        </Anchor>
      )}
      <CopyButton value={value} what={shortAddress(value)} />
    </span>
  )
}
