import type { ReactNode } from 'react'
import { exactDigits } from '../../ui/exact-json.ts'
import { Facts } from '../../ui/shell.tsx'
import { shortText, Text } from '../../ui/text.tsx'
import { OnChain } from '../../ui/values.tsx'

export interface PayloadProps {
  readonly type: string
  readonly network: string | null
  readonly data: unknown
}

/** The body has all fields. */
const maxFields = 60

/** The fields of `data`: numbers exact, addresses and transactions with their explorer. */
export function Payload({ type, network, data }: PayloadProps) {
  if (typeof data !== 'object' || data === null) return <p className="ui-dim">The body has no data.</p>
  const fields: Readonly<Record<string, unknown>> = { ...data }
  const chain = type.startsWith('pump.') ? 'solana' : (fields['network'] ?? network)
  const entries = Object.entries(fields)
  return (
    <>
      <Facts
        facts={entries
          .slice(0, maxFields)
          .map(([name, value]) => [shortText(name, 60), <code key={name}>{cellOf(name, value, chain)}</code>])}
      />
      {entries.length > maxFields && <p className="ui-dim">The body has {entries.length - maxFields} more fields.</p>}
    </>
  )
}

function cellOf(name: string, value: unknown, network: unknown): ReactNode {
  if (typeof value !== 'string') return exactDigits(value) ?? <Text value={JSON.stringify(value)} />
  if (/(_address|_owner|_pool)$/.test(name)) return <OnChain kind="address" network={network} value={value} />
  if (/(^|_)tx(_hash)?$/.test(name)) return <OnChain kind="transaction" network={network} value={value} />
  return <Text value={value} />
}
