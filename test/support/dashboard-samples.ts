import type { Attempt, DeliveryDetail, WorldEvent } from '../../src/web/dashboard/contract.ts'
import { exampleIds } from '../../schema/rest/examples.ts'

/** Hostile texts: markup, direction marks and control characters. */
export const nasty = {
  name: '<img src=x onerror="globalThis.isHacked = true"><script>globalThis.isHacked = true</script>',
  symbol: 'EVIL\u202eLOOC\u0007',
  excerpt: '<svg onload="globalThis.isHacked = true">\u202e refused </svg>',
} as const

const at = (second: number) => new Date(Date.UTC(2026, 0, 31, 14, 0, second)).toISOString()

/** An event of a token with a hostile name. */
export function sampleEvent(seq: number): WorldEvent {
  return {
    seq,
    cause: seq,
    alertIds: [],
    audience: 'all',
    event: {
      id: `evt_${String(seq).padStart(26, '0')}`,
      type: 'token.new_listing',
      created_at: at(seq),
      data: {
        token_address: exampleIds.token,
        network: 'ethereum',
        symbol: nasty.symbol,
        name: nasty.name,
        dex: 'Uniswap V2',
        pool_address: exampleIds.pool,
        initial_liquidity_usd: 1234.5,
        listing_tx: exampleIds.tx,
      },
    },
  }
}

function sampleAttempt(attempt: number): Attempt {
  return {
    attempt,
    at: at(attempt),
    status: 500,
    failure: `answered 500 ${nasty.excerpt}`,
    latencyMs: 41 * attempt,
    isExtra: false,
    faults: attempt === 1 ? ['delay', 'tamper'] : [],
    requestHeaders: { 'Content-Type': 'application/json', 'X-Service-Signature': '0123abcd…' },
    responseHeaders: { 'content-type': 'text/html', 'set-cookie': 'a=1, b=2' },
    responseExcerpt: nasty.excerpt,
    nextAttemptAt: attempt < 6 ? at(attempt + 1) : null,
  }
}

/** An undelivered delivery. Its body has a hostile name and a number with more digits than a float. */
const sampleDelivery: DeliveryDetail = {
  deliveryId: 'dlv_1',
  eventId: sampleEvent(1).event.id,
  eventType: 'token.new_listing',
  endpointId: exampleIds.webhook,
  url: 'https://hooks.example.com/events',
  state: 'undelivered',
  attempts: 6,
  createdAt: at(1),
  nextAttemptAt: null,
  isReplay: false,
  lastStatus: 500,
  lastFailure: nasty.excerpt,
  body: `{"id": "evt_1", "data": {"name": ${JSON.stringify(nasty.name)}, "symbol": "\u202eLOOC", "amount": 1.10000000000000000001}}`,
  log: [1, 2, 3, 4, 5, 6].map(sampleAttempt),
}

/** Constant responses to GET by path. */
export const sampleAnswers: Readonly<Record<string, unknown>> = {
  '/clock': { mode: 'manual', speed: 1, now: at(30) },
  '/world': {
    counts: { tokens: 1, wallets: 1 },
    trackedWallets: [{ network: 'ethereum', address: exampleIds.wallet }],
  },
  '/events': Array.from({ length: 12 }, (_, index) => sampleEvent(12 - index)),
  '/deliveries/counts': {
    pending: 3,
    inFlight: 1,
    acknowledged: 12_345,
    undelivered: 1,
    cancelled: 0,
    attempts: 12_360,
    duplicates: 14,
  },
  '/deliveries': [sampleDelivery],
  '/deliveries/dlv_1': sampleDelivery,
  '/accounts': [
    {
      accountId: 'acc_1',
      name: nasty.name,
      plan: 'pro',
      keys: [{ keyId: 'key_1', name: nasty.name, scopes: ['read:wallets'], createdAt: at(0), revokedAt: null }],
    },
  ],
  '/webhooks': [
    {
      webhookId: exampleIds.webhook,
      accountId: 'acc_1',
      url: 'https://hooks.example.com/events',
      events: ['*'],
      createdAt: at(0),
    },
  ],
  '/alerts': [
    {
      alertId: exampleIds.alert,
      accountId: 'acc_1',
      type: 'price_above',
      address: exampleIds.token,
      network: 'ethereum',
      threshold: 1.2,
      webhookUrl: 'https://hooks.example.com/alerts',
      label: nasty.name,
      status: 'active',
      createdAt: at(0),
    },
  ],
  '/thresholds': { largeTradeUsd: 10_000, milestonesUsd: [1000, 5000], riskSensitivity: 10 },
  '/faults': [{ id: 'flt_1', rule: { direction: 'out', fault: { kind: 'tamper' }, rate: 0.5 }, struck: 7 }],
  '/faults/kinds': [
    {
      kind: 'delay',
      direction: 'out',
      about: nasty.name,
      parameters: [
        { name: 'distribution', default: 'fixed', about: 'how', choices: ['fixed', 'uniform'] },
        { name: 'ms', default: 10_000, about: 'how long' },
      ],
    },
    { kind: 'empty', direction: 'in', about: 'No body.', parameters: [] },
  ],
  '/scenarios': [
    { name: 'calm', about: 'Nothing goes wrong.' },
    { name: 'outage', about: nasty.name },
  ],
}
