import type { ReactNode } from 'react'
import type { EventType } from '../../../schema/index.ts'
import { Address } from './address.tsx'
import { formatNumber, formatPercent, formatUsd } from './format.ts'
import { PlainText } from './plain-text.tsx'

/** `data` as it may really look: any field missing or of another type than documented. */
type Fields = Readonly<Record<string, unknown>>

/** Where the page shows a token or a wallet, if it does. */
export type HrefOf = (kind: 'token' | 'wallet', network: unknown, address: unknown) => string | undefined

interface Line {
  readonly data: Fields
  readonly token: (address: unknown) => ReactNode
  readonly wallet: (address: unknown) => ReactNode
}

const text = (value: unknown) => <PlainText value={value} />
const symbol = (value: unknown) => (
  <strong>
    <PlainText value={value} />
  </strong>
)
const tradeWords: Fields = { buy: 'bought', sell: 'sold', swap: 'swapped' }
const alertWords: Fields = { price_above: 'above', price_below: 'below' }
const wordFor = (words: Fields, value: unknown) =>
  typeof value === 'string' && Object.hasOwn(words, value) ? String(words[value]) : text(value)

/** What is said of each documented type (R93–R102). */
const lines: Readonly<Record<EventType, (line: Line) => ReactNode>> = {
  'token.price_alert': ({ data, token }) => (
    <>
      {symbol(data.symbol)} at {formatUsd(data.current_price_usd)}, {wordFor(alertWords, data.alert_type)}{' '}
      {formatUsd(data.threshold_usd)} ({formatPercent(data.change_pct_24h)} in 24 h) {token(data.token_address)}
    </>
  ),
  'token.new_listing': ({ data, token }) => (
    <>
      {symbol(data.symbol)} ({text(data.name)}) listed on {text(data.dex)} with {formatUsd(data.initial_liquidity_usd)}{' '}
      {token(data.token_address)}
    </>
  ),
  'token.risk_change': ({ data, token }) => (
    <>
      {symbol(data.symbol)} risk {formatNumber(data.previous_risk_score)} → {formatNumber(data.current_risk_score)} (
      {text(data.risk_level)}) {token(data.token_address)}
    </>
  ),
  'wallet.large_trade': ({ data, token, wallet }) => (
    <>
      {wallet(data.wallet_address)} {wordFor(tradeWords, data.trade_type)} {symbol(data.token_symbol)} for{' '}
      {formatUsd(data.amount_usd)} {token(data.token_address)}
    </>
  ),
  'wallet.new_position': ({ data, token, wallet }) => (
    <>
      {wallet(data.wallet_address)} opened {symbol(data.token_symbol)}: {formatUsd(data.amount_usd)} at{' '}
      {formatUsd(data.entry_price_usd)} {token(data.token_address)}
    </>
  ),
  'wallet.pnl_milestone': ({ data, wallet }) => (
    <>
      {wallet(data.wallet_address)} passed {formatUsd(data.milestone_usd)}: realized {formatUsd(data.realized_pnl_usd)}{' '}
      ({formatPercent(data.roi_pct)}, {text(data.timeframe)})
    </>
  ),
  'contract.honeypot_detected': ({ data, token }) => (
    <>
      {symbol(data.symbol)} is a honeypot ({text(data.honeypot_type)}), risk {formatNumber(data.risk_score)},{' '}
      {formatUsd(data.liquidity_usd)} liquidity {token(data.contract_address)}
    </>
  ),
  'contract.liquidity_removed': ({ data, token }) => (
    <>
      {symbol(data.symbol)} lost {formatUsd(data.liquidity_removed_usd)} ({formatNumber(data.liquidity_removed_pct)}%)
      of its liquidity, {formatUsd(data.remaining_liquidity_usd)} left {token(data.contract_address)}
    </>
  ),
  'contract.ownership_changed': ({ data, token }) => (
    <>
      {symbol(data.symbol)} changed its owner to <Address value={data.new_owner} /> {token(data.contract_address)}
    </>
  ),
  'pump.graduation': ({ data, token }) => (
    <>
      {symbol(data.symbol)} ({text(data.name)}) graduated with {formatNumber(data.sol_raised)} SOL raised{' '}
      {token(data.token_address)}
    </>
  ),
}

export interface EventLineProps {
  readonly type: string
  readonly data: unknown
  readonly hrefOf?: HrefOf
}

/** An event in a line for people; of a type that is not known, its network at most. */
export function EventLine({ type, data, hrefOf = () => undefined }: EventLineProps) {
  const fields: Fields = typeof data === 'object' && data !== null ? { ...data } : {}
  const network = type === 'pump.graduation' ? 'solana' : fields.network
  const link = (kind: 'token' | 'wallet') => (address: unknown) => {
    const href = hrefOf(kind, network, address)
    return <Address value={address} {...(href !== undefined && { href })} />
  }
  const line = isKnown(type) ? lines[type]({ data: fields, token: link('token'), wallet: link('wallet') }) : null
  return (
    <span className="ui-event-line">
      {line} <span className="ui-dimmed">{text(network)}</span>
    </span>
  )
}

function isKnown(type: string): type is EventType {
  return Object.hasOwn(lines, type)
}
