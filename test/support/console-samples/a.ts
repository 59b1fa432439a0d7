import { parseExactJson } from '../../../src/admin/exact-json.ts'
import type { EventDetailJson, EventRowJson, EventSummaryJson } from '../../../src/admin/events.ts'
import type { OverviewJson } from '../../../src/admin/overview.ts'

const base = Date.UTC(2026, 0, 31, 14, 0, 0)
const at = (ms: number) => new Date(base + ms).toISOString()

export const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const token = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
export const tx = `0x${'ab12'.repeat(16)}`

export const idOf = (seq: number) => `evt_${String(seq).padStart(26, '0')}`

/** A stored event; one second lies between two of them. */
function summaryOf(seq: number, change: Partial<EventSummaryJson> = {}): EventSummaryJson {
  return {
    seq,
    id: idOf(seq),
    source: 'default',
    type: 'wallet.large_trade',
    created_at: at(seq * 1000 - 200),
    received_at: at(seq * 1000),
    network: 'ethereum',
    address: wallet,
    status: 'done',
    ...change,
  }
}

/** A row of the list of events: one run is done, one is retried. */
export function rowOf(seq: number, change: Partial<EventRowJson> = {}): EventRowJson {
  return {
    ...summaryOf(seq),
    data: { wallet_address: wallet, token_symbol: 'ABC', trade_type: 'buy', amount_usd: 12345.67, network: 'ethereum' },
    runs: [
      { handler: 'large-trades', state: 'done', attempt: 1, replay: null, error: null },
      {
        handler: 'ledger',
        state: 'ready',
        attempt: 1,
        replay: null,
        error: { name: 'Error', message: 'the book is locked' },
      },
    ],
    ...change,
  }
}

/** The exact bytes of the sample event; its numbers are longer than a float. */
export const body = `{"id":"${idOf(7)}","type":"wallet.large_trade","created_at":"${at(6800)}","data":{"wallet_address":"${wallet}","network":"ethereum","token_address":"${token}","token_symbol":"ABC","trade_type":"buy","amount_usd":12345.670000000000000001,"tx_hash":"${tx}","block_number":18446744073709551615}}`

export const detail: EventDetailJson = {
  ...summaryOf(7, { status: 'dead' }),
  key: `ethereum:${wallet}`,
  pruned: false,
  envelope: parseExactJson(body),
  receipt: {
    received_at: at(7000),
    stored_at: at(7003),
    secret_label: 'primary',
    size_bytes: body.length,
    duplicates: 2,
    conflicts: 1,
    headers: { 'content-type': 'application/json', 'user-agent': 'sender/1.0' },
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
  runs: [
    {
      run_id: 31,
      handler: 'large-trades',
      state: 'done',
      attempt: 1,
      crashed: 0,
      run_at: null,
      replay: null,
      started_at: at(7010),
      ended_at: at(7052),
      item: null,
      state_keys: ['volume:ethereum'],
    },
    {
      run_id: 32,
      handler: 'ledger',
      state: 'dead',
      attempt: 2,
      crashed: 1,
      run_at: null,
      replay: null,
      started_at: at(9000),
      ended_at: at(9100),
      item: null,
      state_keys: [],
    },
    {
      run_id: 33,
      handler: 'chat',
      state: 'ready',
      attempt: 1,
      crashed: 0,
      run_at: at(69_000),
      replay: null,
      started_at: at(7060),
      ended_at: at(7200),
      item: {
        payload: parseExactJson('{"text":"ABC was bought","wei":340282366920938463463374607431768211455}'),
        idempotency_key: 'large-trades:31:0',
      },
      state_keys: [],
    },
  ],
  timeline: [
    {
      run_id: 31,
      handler: 'large-trades',
      replay: null,
      attempt: 1,
      started_at: at(7010),
      ended_at: at(7052),
      outcome: 'done',
      error: null,
    },
    {
      run_id: 33,
      handler: 'chat',
      replay: null,
      attempt: 1,
      started_at: at(7060),
      ended_at: at(7200),
      outcome: 'retry',
      error: { name: 'SinkError', message: 'answered 503', stack: null },
    },
    {
      run_id: 32,
      handler: 'ledger',
      replay: null,
      attempt: 1,
      started_at: at(7100),
      ended_at: at(7900),
      outcome: 'retry',
      error: {
        name: 'Error',
        message: 'the book is locked',
        stack: 'Error: the book is locked\n    at write (ledger.ts:12:9)',
      },
    },
    {
      run_id: 32,
      handler: 'ledger',
      replay: null,
      attempt: 2,
      started_at: at(9000),
      ended_at: at(9100),
      outcome: 'dead',
      error: {
        name: 'Error',
        message: 'the book is closed',
        stack: 'Error: the book is closed\n    at write (ledger.ts:14:9)',
      },
    },
  ],
}

export const overview: OverviewJson = {
  now: at(20_000),
  started_at: at(0),
  version: '0.1.0',
  events: 1_234_567,
  events_per_second: 12.5,
  events_per_minute: 738.4,
  sender: null,
  open_runs: 3,
  oldest_open_at: at(7060),
  dead_letters: 4,
  dead_last_hour: 3,
  held: 0,
  quarantined: 2,
  conflicts: 0,
  rejects: 9,
  store_bytes: 1_000_000,
  paused: false,
  warnings: [],
}

/** Responses to GET for the frame and the pages Events and Event, by path below /api/v1. */
export const samples: Readonly<Record<string, unknown>> = {
  '/session': { role: 'operator', expires_at: at(43_200_000) },
  '/overview': overview,
  '/events': {
    data: Array.from({ length: 20 }, (_, index) => rowOf(20 - index)),
    next_cursor: null,
    searched_to: at(1000),
  },
  [`/events/${idOf(7)}`]: detail,
}
