import { Anchor, Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { Address } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatUsd } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { EmptyState, ErrorState } from '../../ui/states.tsx'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { TokenRow } from '../contract-world.ts'
import { networks } from '../names.ts'
import { hrefOf } from '../parts/links.ts'
import { usePages } from '../parts/use-pages.ts'

/** The tokens of the world: all of them page by page, or those that a search finds. */
export function TokensPage() {
  const [network, setNetwork] = useState('')
  const [text, setText] = useState('')
  const [sought, setSought] = useState('')
  const all = usePages<TokenRow>(sought === '' ? `/world/tokens${queryOf({ network })}` : null)
  const found = useApi<readonly TokenRow[]>(sought === '' ? null : `/search${queryOf({ q: sought })}`)
  const rows =
    sought === '' ? all.rows : (found.data?.filter((row) => network === '' || row.network === network) ?? null)

  const search = (event: SubmitEvent) => {
    event.preventDefault()
    setSought(text.trim())
  }

  return (
    <Page title="Tokens" about="Every token of the simulated world, oldest first.">
      <form className="ui-form" onSubmit={search} role="search" aria-label="Tokens">
        <NativeSelect
          label="Network"
          data={[{ value: '', label: 'All' }, ...networks]}
          value={network}
          onChange={(event) => setNetwork(event.currentTarget.value)}
        />
        <TextInput
          label="Symbol, name or address"
          className="ui-grow"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            if (event.currentTarget.value === '') setSought('')
          }}
        />
        <Button type="submit" variant="default">
          Search
        </Button>
      </form>
      <DataTable
        caption="Tokens"
        rows={rows}
        error={sought === '' ? all.error : found.error}
        onRetry={sought === '' ? all.reload : found.reload}
        rowKey={({ seq }) => String(seq)}
        empty={<EmptyState title="No tokens found">Try another network or fewer letters.</EmptyState>}
        columns={[
          {
            header: 'Symbol',
            isName: true,
            cell: (token) => (
              <Anchor href={hrefOf('token', token.network, token.address)}>
                <PlainText value={token.symbol} />
              </Anchor>
            ),
          },
          { header: 'Name', cell: ({ name }) => <PlainText value={name} /> },
          { header: 'Network', cell: (token) => token.network },
          { header: 'Price', isNumber: true, cell: ({ price_usd }) => formatUsd(price_usd) },
          { header: 'Address', cell: ({ address }) => <Address value={address} /> },
        ]}
      />
      <ErrorState error={all.moreError} />
      {sought === '' && all.hasMore && (
        <Group justify="center">
          <Button variant="default" loading={all.isLoadingMore} onClick={all.loadMore}>
            Load more
          </Button>
        </Group>
      )}
    </Page>
  )
}
