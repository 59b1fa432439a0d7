import { join } from 'node:path'
import type { Pages } from '../../src/base/http/page-files.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createPaces, type HandlerPace } from '../../src/dispatch/pace.ts'
import type { HandlerInfo } from '../../src/dispatch/runner-protocol.ts'
import { createMeter } from '../../src/health/meter.ts'
import { defaultSender } from '../../src/health/senders.ts'
import type { Reconcile } from '../../src/health/reconcile.ts'
import type { Effects, RunError } from '../../src/inbox/port.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { createRejects } from '../../src/receiver/rejects.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { sign } from '../../src/signature/sign.ts'
import { arrivalOf, quarantinedOf } from '../fixtures/stored-events.ts'
import { startAdmin } from '../integration/admin-server.ts'
import { createTempDir } from './temp-dir.ts'

/** The time of the stage: 2026-01-31T14:00:00Z. */
const start = Date.UTC(2026, 0, 31, 14)
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const secret = 'a-secret-of-the-webhook'
const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

export const idOf = (seq: number) => `evt_${String(seq).padStart(26, '0')}`

/** A trade of one wallet. Its numbers are longer than a float. */
export function tradeOf(seq: number, amount = '12345.670000000000000001') {
  const raw = `{"id":"${idOf(seq)}","type":"wallet.large_trade","created_at":"2026-01-31T13:59:59Z","data":{"wallet_address":"${wallet}","network":"ethereum","token_address":"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359","token_symbol":"ABC","trade_type":"buy","amount_usd":${amount},"tx_hash":"0x${'ab12'.repeat(16)}","block_number":18446744073709551615}}`
  return {
    ...arrivalOf(idOf(seq)),
    key: `ethereum:${wallet}`,
    address: wallet,
    raw: Buffer.from(raw),
    receivedAt: start - 3,
  }
}

/** Bytes that are not UTF-8. */
export const unusableBytes = Uint8Array.from([0xff, 0x00, ...Buffer.from('{"a": "\u202e"')])
const bodies = ['{', '[1]'].map((text) => quarantinedOf(Buffer.from(text)))
const unusable = { ...quarantinedOf(unusableBytes), reason: 'not_utf8' }

const errorOf = (name: string, message: string, frame: string): RunError => {
  return { name, message, stack: `${name}: ${message}\n    at ${frame}` }
}

const infoOf = (name: string, kind: HandlerInfo['kind'] = 'handler'): HandlerInfo => ({
  kind,
  name,
  types: ['wallet.*'],
  order: 'key',
  concurrency: 8,
  batch: 1,
  priority: 0,
  timeoutMs: 30_000,
  onDead: 'skip',
  latestOnly: false,
  from: 'now',
  isolate: false,
  retry: { attempts: 10, baseMs: 1_000, capMs: 600_000 },
  file: `/handlers/${name}.ts`,
})

const pace: HandlerPace = {
  perSecond: 12.3,
  errorRate: 0,
  p50Ms: 3,
  p95Ms: 9,
  p99Ms: 21,
  series: Array.from({ length: 30 }, (_, index) => index % 5),
  lastError: null,
}

/** An inbox that was out of service for 20 hours. It has every kind of row: 20 trades, of which the seventh failed for good. */
async function openFilled(file: string) {
  const clock = createTestClock(start - 20 * hourMs - minuteMs)
  const open = async () => {
    const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
    await inbox.startServing()
    return inbox
  }
  const first = await open()
  await clock.advance(minuteMs)
  await first.close()
  await clock.advance(20 * hourMs)
  const inbox = await open()
  const route = (name: string) => ({ name, types: ['wallet.*'], order: 'none' as const })
  const loaded = [
    route('large-trades'),
    { ...route('ledger'), order: 'key' as const, keyPaths: ['id'], onDead: 'hold' as const },
    { ...route('chat'), types: [] },
  ]
  await inbox.register([...loaded, route('old-one')])
  await inbox.accept([tradeOf(1)])
  await inbox.register(loaded)
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await inbox.accept([
    ...Array.from({ length: 5 }, (_, index) => tradeOf(index + 2)),
    { ...tradeOf(7), headers: '{"user-agent":"sender/1.0"}', trace },
    ...Array.from({ length: 13 }, (_, index) => tradeOf(index + 8)),
    tradeOf(7),
    tradeOf(7, '2'),
    ...bodies,
    unusable,
  ])

  type Verdict =
    | { kind: 'done'; effects?: Effects }
    | { kind: 'dead'; error: RunError }
    | { kind: 'retry'; at: number; error: RunError }
  const settle = async (handler: string, verdictOf: (seq: number) => Verdict) => {
    const leases = await inbox.claim({ handlers: [handler], max: 50, owner: 'filled', suspects: false })
    const times = { startedAt: start + 10, endedAt: start + 52 }
    await inbox.settle(leases.map(({ runId, token, event }) => ({ runId, token, ...times, ...verdictOf(event.seq) })))
  }
  const item = {
    sink: 'chat',
    key: null,
    payload: '{"text":"ABC was bought","wei":340282366920938463463374607431768211455}',
  }
  await settle('large-trades', (seq) => {
    if (seq <= 3)
      return {
        kind: 'dead',
        error: errorOf('TypeError', `cannot read amount ${seq}`, 'run (handlers/large-trades.ts:8:11)'),
      }
    if (seq !== 7) return { kind: 'done' }
    const writes = [{ key: 'volume:ethereum', value: '1', expiresAt: null }]
    return { kind: 'done', effects: { reads: [], writes, items: [{ ...item, idempotencyKey: 'large-trades:7:0' }] } }
  })
  const locked = errorOf('Error', 'the book is locked', 'write (ledger.ts:12:9)')
  await settle('ledger', (seq) => ({ kind: 'retry', at: start + (seq === 7 ? 0 : hourMs), error: locked }))
  const closed = errorOf('Error', 'the book is closed', 'write (ledger.ts:14:9)')
  await settle('ledger', () => ({ kind: 'dead', error: closed }))
  await settle('chat', () => ({
    kind: 'retry',
    at: start + hourMs,
    error: { name: 'SinkError', message: 'answered 503' },
  }))
  const by = 'operator (session) 127.0.0.1 Mozilla/5.0'
  await inbox.setPaused('ledger', true, by)
  await inbox.setConcurrency('ledger', 2, by)
  await inbox.startReplay({ filter: { ids: [idOf(20)], handler: 'ledger' }, perSecond: 50, newKeys: false }, by)
  await inbox.note('session.end', { of: 'a later version' })
  return { inbox, clock }
}

/** The admin API with every kind of row, warning and state. `more` overrides parts of it. */
export async function startFilledAdmin(more: { readonly pages?: Pages } & object = {}) {
  await using opened = new AsyncDisposableStack()
  const dir = opened.use(await createTempDir())
  const { inbox, clock } = await openFilled(join(dir.path, 'inbox.db'))
  const meter = createMeter(clock)
  meter.acknowledged(12)
  const signatureHeader = 'x-service-signature'
  const rejects = createRejects({
    clock,
    secrets: () => parseSecrets(`main:${secret}`),
    paths: ['/webhooks'],
    signatureHeader,
    storedHeaders: [],
    trustedProxies: [],
  })
  const body = Buffer.from('{}')
  const base64 = Buffer.from(sign(body, secret), 'hex').toString('base64')
  const request = { method: 'POST', url: '/webhooks', socket: { remoteAddress: '203.0.113.9' } }
  rejects.add({ ...request, headers: { [signatureHeader]: base64 } }, 'signature_mismatch', body)
  rejects.add({ ...request, headers: {} }, 'body_too_large')

  let reconcile: Reconcile | null = null
  const candidate = { network: 'base', wallet: '0xab', txHash: '0x01', tradedAt: '2026-01-31', summary: 'buy 1 ABC' }
  const counted = { wallets: 2, walletsDone: 1, trades: 3, requests: 1, candidates: [candidate], candidateCount: 1 }
  const begun = { id: 1, state: 'running' as const, startedAt: start, endedAt: null, error: null, notes: ['a note'] }
  const drift = {
    expected: 'no such field',
    example: '0.31',
    count: 14,
    firstAt: start,
    lastAt: start,
    firstEventId: idOf(7),
  }
  const warning = { text: 'Look', since: start, href: '/deliveries' }
  const slow = {
    ...warning,
    code: 'ack_slow',
    subject: '',
    level: 'critical',
    title: 'Slow for half of the time',
  } as const
  const paused = { ...warning, code: 'paused', subject: 'ledger', level: 'warning', title: 'ledger is paused' } as const
  const silence = {
    type: 'wallet.large_trade',
    network: 'base',
    lastAt: start,
    silentMs: minuteMs,
    usualMs: minuteMs,
    learning: null,
  }
  const stage = opened.use(
    await startAdmin({
      inbox,
      handlers: () => [infoOf('large-trades'), infoOf('ledger'), infoOf('chat', 'sink')],
      clock,
      now: () => clock.now(),
      meter,
      senders: ['default', 'desk'].map((source) => ({ sender: { ...defaultSender, source }, meter })),
      rejects,
      reconciler: {
        check: () => {},
        start: (span) => (reconcile = { ...begun, ...counted, ...span }),
        current: () => reconcile,
        cancel: () => (reconcile = reconcile && { ...reconcile, state: 'cancelled', endedAt: start + 1 }),
      },
      drift: { records: () => [{ kind: 'new_field', type: 'wallet.large_trade', path: 'data.gas_usd', ...drift }] },
      watch: {
        warnings: () => [slow, paused],
        silences: () => [
          { ...silence, alarmAfterMs: hourMs, state: 'silent' },
          {
            ...silence,
            type: 'token.new_listing',
            alarmAfterMs: hourMs,
            state: 'learning',
            learning: { until: start + hourMs, missingEvents: 12 },
          },
        ],
        backlog: () => [{ at: start, openRuns: 1, deadLetters: 0 }],
      },
      paces: (name) => (name === 'chat' ? createPaces(clock).of(name) : pace),
      openBreakers: () =>
        new Map([
          ['chat', { reason: 'breaker', since: start, until: start + minuteMs, failures: 5, error: 'answered 503' }],
        ]),
      settings: () => [
        { name: 'INBOX_HOST', value: '0.0.0.0', origin: 'environment', secret: false, default: '127.0.0.1' },
        { name: 'INBOX_PORT', value: '8080', origin: 'default', secret: false, default: '8080' },
        { name: 'INBOX_PATH', value: '/webhooks', origin: 'default', secret: false, default: '/webhooks' },
        { name: 'INBOX_TLS_CERT_FILE', value: '', origin: 'default', secret: false, default: '' },
        { name: 'INBOX_SECRETS', value: 'set (labels: main, next)', origin: 'file', secret: true, default: '' },
      ],
      trySink: async () => ({ result: 'failed', error: 'still 503' }),
      secretLabels: () => ['main', 'next'],
      startedAt: start,
      ...more,
    }),
  )
  const owned = opened.move()
  const [conflict] = (await inbox.conflicts({ limit: 1 })).data
  return {
    ...stage,
    url: `http://127.0.0.1:${stage.port}`,
    clock,
    digest: conflict?.digest ?? '',
    unusableId: unusable.id,
    quarantinedIds: [...bodies, unusable].map(({ id }) => id),
    rejectId: rejects.list().find(({ reason }) => reason === 'signature_mismatch')?.id ?? '',
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export type FilledAdmin = Awaited<ReturnType<typeof startFilledAdmin>>
