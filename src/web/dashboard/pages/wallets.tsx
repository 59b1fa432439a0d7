import { Button, Group, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { Address } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatCount } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { EmptyState, ErrorState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { queryOf } from '../api-client.ts'
import type { WalletRow } from '../contract-world.ts'
import { archetypes, networks } from '../names.ts'
import { hrefOf } from '../parts/links.ts'
import { usePages } from '../parts/use-pages.ts'

/** The wallets of the world. */
export function WalletsPage() {
  const [network, setNetwork] = useState('')
  const [archetype, setArchetype] = useState('')
  const [tracked, setTracked] = useState('')
  const pages = usePages<WalletRow>(`/world/wallets${queryOf({ network, archetype, tracked })}`)

  return (
    <Page title="Wallets" about="Everybody who trades in the simulated world.">
      <div className="ui-form">
        <NativeSelect
          label="Network"
          data={[{ value: '', label: 'All' }, ...networks]}
          value={network}
          onChange={(event) => setNetwork(event.currentTarget.value)}
        />
        <NativeSelect
          label="Kind"
          data={[{ value: '', label: 'All' }, ...archetypes]}
          value={archetype}
          onChange={(event) => setArchetype(event.currentTarget.value)}
        />
        <NativeSelect
          label="Tracked"
          data={[
            { value: '', label: 'All' },
            { value: 'true', label: 'Tracked' },
            { value: 'false', label: 'Not tracked' },
          ]}
          value={tracked}
          onChange={(event) => setTracked(event.currentTarget.value)}
        />
      </div>
      <DataTable
        caption="Wallets"
        rows={pages.rows}
        error={pages.error}
        onRetry={pages.reload}
        rowKey={({ seq }) => String(seq)}
        empty={<EmptyState title="No such wallets">Try another network or kind.</EmptyState>}
        columns={[
          {
            header: 'Wallet',
            isName: true,
            cell: (wallet) => (
              <Address value={wallet.address} href={hrefOf('wallet', wallet.network, wallet.address) ?? '#/wallets'} />
            ),
          },
          { header: 'Network', cell: (wallet) => wallet.network },
          { header: 'Kind', cell: (wallet) => wallet.archetype },
          { header: 'Trades', isNumber: true, cell: ({ tradeCount }) => formatCount(tradeCount) },
          {
            header: 'Tracked',
            cell: (wallet) => (wallet.tracked ? <StatusBadge status="tracked" tone="info" /> : 'No'),
          },
        ]}
      />
      <ErrorState error={pages.moreError} />
      {pages.hasMore && (
        <Group justify="center">
          <Button variant="default" loading={pages.isLoadingMore} onClick={pages.loadMore}>
            Load more
          </Button>
        </Group>
      )}
    </Page>
  )
}
