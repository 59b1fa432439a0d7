import type { ReactNode } from 'react'
import { Address } from '../../ui/address.tsx'
import { ExplorerLink } from '../../ui/explorer-link.tsx'
import { exactDigits } from '../../ui/exact-json.ts'
import { formatCount, formatNumber, formatPercent, formatUsd } from '../../ui/format.ts'
import { Facts } from '../../ui/page.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'

export interface EventDataProps {
  readonly type: string
  /** As it may really look. */
  readonly data: unknown
}

/** So many fields, and characters of one, are shown here: all of it stands in the body. */
const mostFields = 60
const mostCharacters = 300

/** The fields of `data`, each as its name says that it is meant: amounts, percentages, addresses, transactions, times. */
export function EventData({ type, data }: EventDataProps) {
  if (typeof data !== 'object' || data === null) return <EmptyState title="This event has no data" />
  const fields: Readonly<Record<string, unknown>> = { ...data }
  const network = type.startsWith('pump.') ? 'solana' : fields['network']
  const entries = Object.entries(fields)
  return (
    <>
      <Facts
        facts={entries
          .slice(0, mostFields)
          .map(([name, value]) => [cut(toVisible(name), 60), <Value key={name} {...{ name, value, network }} />])}
      />
      {entries.length > mostFields && (
        <p className="ui-dimmed">{entries.length - mostFields} more fields stand in the body.</p>
      )}
    </>
  )
}

interface ValueProps {
  readonly name: string
  readonly value: unknown
  readonly network: unknown
}

function Value({ name, value, network }: ValueProps): ReactNode {
  const digits = exactDigits(value) ?? (typeof value === 'number' ? String(value) : null)
  if (digits !== null) return <span title={digits}>{numberText(name, digits)}</span>
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'string') return value === null ? 'null' : <PlainText value={cut(JSON.stringify(value))} />
  if (/(_address|_owner|_pool)$/.test(name)) return <Place kind="address" network={network} value={value} />
  if (/_(tx|tx_hash)$|^tx_hash$/.test(name)) return <Place kind="transaction" network={network} value={value} />
  if (name.endsWith('_at') && !Number.isNaN(Date.parse(value))) return <Time at={value} />
  return <PlainText value={cut(value)} />
}

/** Amounts are rounded for people, on hover they are exact; a whole number is never. */
function numberText(name: string, digits: string): string {
  const value = Number(digits)
  if (name.endsWith('_usd')) return formatUsd(value)
  if (/_pct(_|$)/.test(name)) return formatPercent(value)
  if (Number.isSafeInteger(value)) return formatCount(value)
  return /^-?\d+$/.test(digits) ? cut(digits) : formatNumber(value)
}

interface PlaceProps {
  readonly kind: 'address' | 'transaction'
  readonly network: unknown
  readonly value: string
}

/** An address or a transaction with its explorer. */
export function Place({ kind, network, value }: PlaceProps) {
  return (
    <span className="ui-place">
      <Address value={value} />
      <ExplorerLink kind={kind} network={network} value={value} />
    </span>
  )
}

function cut(text: string, most = mostCharacters): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`
}
