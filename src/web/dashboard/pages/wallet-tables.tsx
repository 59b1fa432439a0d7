import { Anchor } from '@mantine/core'
import { Address } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatNumber, formatPercent, formatUsd } from '../../ui/format.ts'
import { PlainText } from '../../ui/plain-text.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import type { Position, Timeframe, Trade, WalletPage } from '../contract-world.ts'
import { hrefOf } from '../parts/links.ts'

const timeframes: readonly Timeframe[] = ['24h', '7d', '30d', 'all']

/** Gain or loss: the sign says which, the colour repeats it. */
function Gain({ value, text }: { readonly value: number; readonly text: string }) {
  return <span className={value > 0 ? 'ui-good' : value < 0 ? 'ui-bad' : undefined}>{text}</span>
}

export function PnlTable({ pnl }: Pick<WalletPage, 'pnl'>) {
  const rows = timeframes.map((timeframe) => ({ timeframe, ...pnl[timeframe].pnl }))
  return (
    <DataTable
      caption="Profit and loss by time frame"
      rows={rows}
      rowKey={({ timeframe }) => timeframe}
      empty={null}
      columns={[
        { header: 'Time frame', isName: true, cell: ({ timeframe }) => timeframe },
        {
          header: 'Realized',
          isNumber: true,
          cell: ({ realized_usd: usd }) => <Gain value={usd} text={formatUsd(usd)} />,
        },
        {
          header: 'Unrealized',
          isNumber: true,
          cell: ({ unrealized_usd: usd }) => <Gain value={usd} text={formatUsd(usd)} />,
        },
        { header: 'Total', isNumber: true, cell: ({ total_usd: usd }) => <Gain value={usd} text={formatUsd(usd)} /> },
        {
          header: 'ROI',
          isNumber: true,
          cell: ({ roi_pct: percent }) => <Gain value={percent} text={formatPercent(percent)} />,
        },
      ]}
    />
  )
}

export function PositionTable({ network, positions }: { readonly network: string } & Pick<WalletPage, 'positions'>) {
  return (
    <DataTable<Position>
      caption="Positions"
      rows={positions}
      rowKey={({ token_address }) => token_address}
      empty={<EmptyState title="No positions">The wallet holds no token.</EmptyState>}
      columns={[
        {
          header: 'Token',
          isName: true,
          cell: ({ token_address, symbol }) => (
            <Anchor href={hrefOf('token', network, token_address)}>
              <PlainText value={symbol} />
            </Anchor>
          ),
        },
        { header: 'Balance', isNumber: true, cell: ({ balance }) => formatNumber(balance) },
        { header: 'Price', isNumber: true, cell: ({ price_usd }) => formatUsd(price_usd) },
        { header: 'Value', isNumber: true, cell: ({ value_usd }) => formatUsd(value_usd) },
        {
          header: 'Unrealised',
          isNumber: true,
          cell: ({ unrealised_pnl_usd: usd, unrealised_pnl_pct: percent }) => (
            <Gain value={usd} text={`${formatUsd(usd)} (${formatPercent(percent)})`} />
          ),
        },
        { header: 'Share', isNumber: true, cell: ({ allocation_pct }) => `${formatNumber(allocation_pct)}%` },
      ]}
    />
  )
}

export function TradeTable({ network, trades }: { readonly network: string } & Pick<WalletPage, 'trades'>) {
  return (
    <DataTable<Trade>
      caption="Newest trades"
      rows={trades}
      rowKey={({ tx_hash }) => tx_hash}
      empty={<EmptyState title="No trades">The wallet has not traded yet.</EmptyState>}
      columns={[
        { header: 'Time', isName: true, cell: ({ timestamp }) => <Time at={timestamp} /> },
        { header: 'Type', cell: ({ type }) => <PlainText value={type} /> },
        { header: 'Paid', cell: ({ token_in }) => <Side network={network} side={token_in} /> },
        { header: 'Got', cell: ({ token_out }) => <Side network={network} side={token_out} /> },
        { header: 'Value', isNumber: true, cell: ({ token_out }) => formatUsd(token_out.value_usd) },
        { header: 'Fee', isNumber: true, cell: ({ fee_usd }) => formatUsd(fee_usd) },
        { header: 'Exchange', cell: ({ dex }) => <PlainText value={dex} /> },
        { header: 'Transaction', cell: ({ tx_hash }) => <Address value={tx_hash} /> },
      ]}
    />
  )
}

function Side({ network, side }: { readonly network: string; readonly side: Trade['token_in'] }) {
  return (
    <span className="ui-time">
      {formatNumber(side.amount)}{' '}
      <Anchor href={hrefOf('token', network, side.address)}>
        <PlainText value={side.symbol} />
      </Anchor>
    </span>
  )
}
