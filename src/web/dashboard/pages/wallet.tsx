import { Button } from '@mantine/core'
import { ApiError, useApiClient } from '../../ui/api.ts'
import { Address } from '../../ui/address.tsx'
import { formatCount, formatUsd } from '../../ui/format.ts'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import { useStream } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import { queryOf } from '../api-client.ts'
import type { WalletPage as WalletAnswer } from '../contract-world.ts'
import type { PlaceProps } from './token.tsx'
import { PnlTable, PositionTable, TradeTable } from './wallet-tables.tsx'

/** A wallet as REST tells of it: overview, PnL, positions, trades; here it can be tracked too (A34). */
export function WalletPage({ network, address }: PlaceProps) {
  const api = useApiClient()
  const { data, error, reload } = useApi<WalletAnswer>(`/world/wallet${queryOf({ network, address })}`)
  const refresh = useThrottled(reload, 2_000)
  useStream('event', refresh)
  useStream('clock', refresh)
  const { run, isBusy, error: trackError } = useAct()

  if (error instanceof ApiError && error.code === 'wallet_not_found')
    return (
      <Page title="Wallet" about={<Address value={address} isFull />}>
        <EmptyState title="Not seen yet">No trade of this wallet on {network} has ever happened.</EmptyState>
      </Page>
    )
  if (data === null)
    return (
      <Page title="Wallet">
        {error === null ? <LoadingState what="the wallet" /> : <ErrorState error={error} onRetry={reload} />}
      </Page>
    )
  const { overview, pnl, positions, trades, tracked } = data
  const track = () =>
    void run(async () => {
      await api.send('POST', '/world/track', { network, wallet: address, isTracked: !tracked })
      reload()
    })
  return (
    <Page
      title="Wallet"
      about={<Address value={overview.address} isFull />}
      actions={
        <Button variant={tracked ? 'default' : 'filled'} loading={isBusy} onClick={track}>
          {tracked ? 'Stop tracking' : 'Track this wallet'}
        </Button>
      }
    >
      <ErrorState error={trackError} />
      <ErrorState error={error} onRetry={reload} />
      <Facts
        facts={[
          ['Network', overview.network],
          ['Portfolio', formatUsd(overview.portfolio_value_usd)],
          ['Tokens held', formatCount(overview.total_tokens_held)],
          ['Trades', formatCount(overview.total_trades_all_time)],
          ['Whale', overview.is_whale ? 'Yes' : 'No'],
          ['Tracked', tracked ? 'Yes' : 'No'],
          ['First active', <Time key="first" at={overview.first_active} />],
          ['Last active', <Time key="last" at={overview.last_active} />],
        ]}
      />
      <Panel title="Profit and loss">
        <PnlTable pnl={pnl} />
      </Panel>
      <Panel title="Positions">
        <PositionTable network={network} positions={positions} />
      </Panel>
      <Panel title="Newest trades">
        <TradeTable network={network} trades={trades} />
      </Panel>
    </Page>
  )
}
