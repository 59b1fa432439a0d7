import { Button } from '@mantine/core'
import { useState } from 'react'
import { Address } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { ExplorerLink, type ExplorerLinkProps } from '../../ui/explorer-link.tsx'
import { formatCount } from '../../ui/format.ts'
import { LongText } from '../../ui/long-text.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import type { ReconcileJson } from '../contract.ts'

type Candidate = ReconcileJson['candidates'][number]

const pageSize = 100

/** Trades that no stored event names, each with the way to look at it on its chain. */
export function Candidates({ reconcile }: { readonly reconcile: ReconcileJson }) {
  const [shown, setShown] = useState(pageSize)
  const { candidates, candidate_count: count, state } = reconcile
  const left = candidates.length - shown
  return (
    <>
      {count > candidates.length && (
        <p className="ui-dimmed">
          The first {formatCount(candidates.length)} of {formatCount(count)} candidates.
        </p>
      )}
      <DataTable
        caption="Candidates"
        rows={candidates.slice(0, shown)}
        rowKey={({ network, wallet, tx_hash: tx }) => JSON.stringify([network, wallet, tx])}
        empty={
          state === 'done' ? (
            <EmptyState title="Nothing is missing, as far as this can tell">
              Each trade that the service told of is named by a stored event.
            </EmptyState>
          ) : null
        }
        columns={columns}
      />
      {left > 0 && (
        <Button className="ui-start" variant="default" onClick={() => setShown(shown + pageSize)}>
          Show more of {formatCount(left)}
        </Button>
      )}
    </>
  )
}

function Linked({
  network,
  kind,
  value,
}: Pick<Candidate, 'network'> & Pick<ExplorerLinkProps, 'kind'> & { readonly value: string }) {
  return (
    <span className="ui-row">
      <Address value={value} />
      <ExplorerLink kind={kind} network={network} value={value} />
    </span>
  )
}

const columns = [
  { header: 'Trade', isName: true, cell: ({ summary }: Candidate) => <LongText value={summary} /> },
  { header: 'At (UTC)', cell: ({ traded_at: at }: Candidate) => <Time at={at} /> },
  { header: 'Network', cell: ({ network }: Candidate) => <LongText value={network} /> },
  {
    header: 'Wallet',
    cell: ({ network, wallet }: Candidate) => <Linked network={network} kind="address" value={wallet} />,
  },
  {
    header: 'Transaction',
    cell: ({ network, tx_hash: tx }: Candidate) => <Linked network={network} kind="transaction" value={tx} />,
  },
]
