import { useMemo } from 'react'
import { Address } from '../../ui/address.tsx'
import { Chart } from '../../ui/chart.tsx'
import { formatCount, formatPercent, formatUsd } from '../../ui/format.ts'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import { useStream } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import { queryOf } from '../api-client.ts'
import type { TokenPage as TokenAnswer } from '../contract-world.ts'

export interface PlaceProps {
  readonly network: string
  readonly address: string
}

/** A token as REST tells of it, and the course of its price. */
export function TokenPage({ network, address }: PlaceProps) {
  const { data, error, reload } = useApi<TokenAnswer>(`/world/token${queryOf({ network, address })}`)
  const refresh = useThrottled(reload, 2_000)
  useStream('event', refresh)
  useStream('clock', refresh)
  const points = useMemo(() => data?.prices.map(({ at, price_usd }) => ({ at, value: price_usd })) ?? [], [data])

  if (data === null)
    return (
      <Page title="Token">
        {error === null ? <LoadingState what="the token" /> : <ErrorState error={error} onRetry={reload} />}
      </Page>
    )
  const { token } = data
  return (
    <Page
      title={
        <>
          <PlainText value={token.symbol} />{' '}
          <span className="ui-dimmed">
            <PlainText value={token.name} />
          </span>
        </>
      }
      about={<Address value={token.address} isFull />}
    >
      <ErrorState error={error} onRetry={reload} />
      <Panel title="Price in USD, last 24 hours">
        <Chart title="Price" points={points} format={formatUsd} />
      </Panel>
      <Facts
        facts={[
          ['Network', token.network],
          ['Price', formatUsd(token.price_usd)],
          ['Change in 24 h', formatPercent(token.change_pct_24h)],
          ['Volume in 24 h', formatUsd(token.volume_24h_usd)],
          ['Liquidity', formatUsd(token.liquidity_usd)],
          ['Market cap', formatUsd(token.market_cap_usd)],
          ['Holders', formatCount(token.holder_count)],
          ['Risk', <Risk key="risk" score={token.risk_score} level={token.risk_level} />],
          ['Decimals', token.decimals],
          ['Made', <Time key="made" at={token.created_at} />],
        ]}
      />
    </Page>
  )
}

function Risk({ score, level }: { readonly score: number; readonly level: string }) {
  const tone = score < 25 ? 'good' : score < 50 ? 'neutral' : score < 75 ? 'warning' : 'bad'
  return (
    <>
      {score} <StatusBadge status={level} tone={tone} />
    </>
  )
}
