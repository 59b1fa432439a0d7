import { parseEvent, type EventOf, type EventType } from '../../../schema/index.ts'

/** Changes to the sample. Missing fields of `data` keep their values; lists are replaced as a whole. */
export interface EventOverrides<T extends EventType> {
  readonly id?: string
  readonly created_at?: string
  readonly data?: Readonly<Partial<EventOf<T>['data']>>
}

/** Default `created_at`: the start of `createTestClock`. */
const createdAt = '2026-01-01T00:00:00.000Z'
let created = 0

/**
 * Creates a valid event of a type, with the ids `evt_test_1`, `evt_test_2` … per process. By default, events of one type
 * have the same address, and so the same key.
 *
 * @throws TypeError if the overrides make the event invalid
 *
 * @example
 * const event = createEvent('wallet.large_trade', { data: { amount_usd: 250_000 } })
 */
export function createEvent<const T extends EventType>(type: T, overrides: EventOverrides<T> = {}): EventOf<T> {
  const { id = `evt_test_${++created}`, created_at = createdAt, data } = overrides
  const event = { id, type, created_at, data: { ...structuredClone(sampleData[type]), ...data } }
  return parseEvent(event) as EventOf<T>
}

const evm = (digit: string) => `0x${digit.repeat(40)}`
const tx = (digit: string) => `0x${digit.repeat(64)}`
const pepe = '0x6982508145454Ce325dDbE47a25d4ec3d2311933'
const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

/** `data` of one valid event of each documented type (R93–R102). */
export const sampleData: { readonly [T in EventType]: EventOf<T>['data'] } = {
  'token.price_alert': {
    token_address: pepe,
    network: 'ethereum',
    symbol: 'PEPE',
    alert_type: 'price_above',
    threshold_usd: 0.0000012,
    current_price_usd: 0.00000123456,
    change_pct_24h: 12.3,
  },
  'token.new_listing': {
    token_address: evm('1'),
    network: 'base',
    symbol: 'NEW',
    name: 'New Coin',
    dex: 'Uniswap V3',
    pool_address: evm('2'),
    initial_liquidity_usd: 50_000,
    listing_tx: tx('3'),
  },
  'token.risk_change': {
    token_address: pepe,
    network: 'bnb',
    symbol: 'PEPE',
    previous_risk_score: 20,
    current_risk_score: 72,
    risk_level: 'high',
    triggered_checks: ['mint_authority', 'proxy_upgrade'],
    ai_summary: 'The owner can mint.',
  },
  'wallet.large_trade': {
    wallet_address: wallet,
    network: 'ethereum',
    trade_type: 'buy',
    token_address: pepe,
    token_symbol: 'PEPE',
    amount_usd: 12_345.67,
    tx_hash: tx('4'),
  },
  'wallet.new_position': {
    wallet_address: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
    network: 'solana',
    token_address: 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263',
    token_symbol: 'BONK',
    entry_price_usd: 0.0000234,
    amount_usd: 2500,
    tx_hash: '5'.repeat(88),
  },
  'wallet.pnl_milestone': {
    wallet_address: wallet,
    network: 'arbitrum',
    milestone_usd: -5000,
    realized_pnl_usd: -5120.5,
    roi_pct: -14.2,
    timeframe: 'all',
  },
  'contract.honeypot_detected': {
    contract_address: evm('6'),
    network: 'polygon',
    symbol: 'TRAP',
    risk_score: 97,
    honeypot_type: 'sell_blocked',
    liquidity_usd: 12_000,
    holder_count: 1132,
    ai_summary: 'Transfers to the pool revert.',
  },
  'contract.liquidity_removed': {
    contract_address: evm('7'),
    network: 'avalanche',
    symbol: 'RUG',
    pool_address: evm('8'),
    liquidity_removed_usd: 80_000,
    liquidity_removed_pct: 82.5,
    remaining_liquidity_usd: 17_000,
    tx_hash: tx('9'),
  },
  'contract.ownership_changed': {
    contract_address: evm('a'),
    network: 'ethereum',
    symbol: 'OWN',
    previous_owner: wallet,
    new_owner: evm('0'),
    tx_hash: tx('b'),
  },
  'pump.graduation': {
    token_address: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
    symbol: 'WIF',
    name: 'dogwifhat',
    bonding_curve_completed: true,
    sol_raised: 85.123456789,
    raydium_pool: 'EP2ib6dYdEeqD8MfE2ezHCxX3kP3K2eLKkirfPm5eyMx',
    migration_tx: '6'.repeat(88),
  },
}
