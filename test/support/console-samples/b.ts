import { defaultSender, describeSchedule } from '../../../src/health/senders.ts'
import type { HandlerJson, HandlerListJson } from '../../../src/admin/handlers.ts'
import type {
  AuditJson,
  GapJson,
  HealthJson,
  ReplicaJson,
  SenderMeterJson,
  SettingsJson,
  WarningJson,
} from '../../../src/admin/health.ts'
import type { ActivityJson } from '../../../src/admin/overview.ts'
import type { ReconcileJson } from '../../../src/admin/reconcile.ts'
import type { ListJson } from '../../../src/web/ui/api.tsx'
import { tx, wallet } from './a.ts'

const base = Date.UTC(2026, 0, 31, 14, 0, 0)
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const at = (ms: number) => new Date(base + ms).toISOString()

export const sender: SenderMeterJson = {
  window_s: 3_600,
  deliveries: 10_000,
  acknowledged: 9_990,
  late: 3,
  refused: 7,
  unusable: 0,
  success_rate: 0.999,
  p50_ms: 4.25,
  p99_ms: 2_750,
  max_ms: 5_210,
  budget_ms: 5_000,
}

export const warnings: readonly WarningJson[] = [
  {
    code: 'ack_slow',
    subject: '',
    level: 'critical',
    title: 'Acknowledgements take more than half of the time that the sender waits',
    text: 'Look at the disk: a commit waits for it.',
    since: at(-5 * minuteMs),
    href: '/health',
  },
  {
    code: 'dead_letters',
    subject: 'ledger',
    level: 'warning',
    title: 'Dead letters of ledger',
    text: 'Requeue them once the cause is gone, or drop them.',
    since: at(-hourMs),
    href: '/dead-letters?handler=ledger',
  },
]

/** Activity with events of eight types: more types than the chart has colors. */
export function activityOf(window: ActivityJson['window']): ActivityJson {
  const [count, bucketS] = window === 'hour' ? [60, 60] : [96, 900]
  const of = (weight: number) => Array.from({ length: count }, (_, index) => (index % 7) * weight)
  const sum = (series: readonly number[]) => series.reduce((total, value) => total + value, 0)
  const types = Array.from({ length: 8 }, (_, index) => ({ type: `kind.number_${index}`, series: of(8 - index) }))
  const buckets = Array.from({ length: count }, (_, index) => ({
    at: at((index - count) * bucketS * 1_000),
    events: types.reduce((total, { series }) => total + (series[index] ?? 0), 0),
    acks:
      index < 5
        ? null
        : { p50_ms: 3 + (index % 4), p99_ms: 40 + index, acknowledged: 100, refused: index === 30 ? 12 : 0 },
  }))
  const networks = ['ethereum', 'solana', null].map((network, index) => ({ network, series: of(16 - 4 * index) }))
  return {
    window,
    bucket_s: bucketS,
    buckets,
    by_type: types.map(({ type, series }) => ({ type, count: sum(series), series })),
    backlog: Array.from({ length: 60 }, (_, index) => ({
      at: at((index - 60) * minuteMs),
      open_runs: index,
      dead_letters: index < 30 ? 1 : 4,
    })),
    by_network: networks.map(({ network, series }) => ({ network, count: sum(series), series })),
  }
}

/** A handler that is well. */
export function handlerOf(name: string, change: Partial<HandlerJson> = {}): HandlerJson {
  return {
    name,
    kind: 'handler',
    loaded: true,
    orphaned: false,
    paused: false,
    settings: {
      types: ['wallet.*'],
      order: 'key',
      key: null,
      concurrency: 8,
      own_concurrency: 8,
      rate: null,
      priority: 0,
      timeout_ms: 30_000,
      on_dead: 'skip',
      latest_only: false,
      isolate: false,
      max_age_ms: null,
      retry: { attempts: 10, base_ms: 1_000, cap_ms: 600_000 },
      file: `handlers/${name}.ts`,
    },
    set_concurrency: null,
    shut: null,
    backfill: null,
    waiting: 0,
    ready: 0,
    suspect: 0,
    running: 0,
    held: 0,
    dead: 0,
    superseded: 0,
    oldest_open_at: null,
    pace: {
      per_second: 12.3,
      failures_per_second: 0,
      error_rate: 0,
      p50_ms: 3,
      p95_ms: 9,
      p99_ms: 21,
      series: Array.from({ length: 30 }, (_, index) => index % 5),
      last_error: null,
    },
    ...change,
  }
}

export const handlers: HandlerListJson = {
  paused: false,
  data: [
    handlerOf('large-trades', { running: 2, ready: 5, waiting: 7, backfill: 0.25 }),
    handlerOf('ledger', { paused: true, dead: 3, held: 1, suspect: 1, set_concurrency: 2 }),
    handlerOf('chat', {
      kind: 'sink',
      shut: {
        since: at(-minuteMs),
        until: at(minuteMs),
        reason: 'breaker',
        failures: 5,
        error: 'answered 503 by the chat',
      },
    }),
    handlerOf('old-one', { kind: null, loaded: false, settings: null, pace: null, waiting: 4, ready: 1 }),
  ],
  next_cursor: null,
}

const gap: GapJson = {
  from: at(-20 * hourMs),
  to: at(-4 * hourMs),
  kind: 'killed',
  clean_stop: false,
  retried_until: at(6 * hourMs),
  lost: { from: new Date(base - 20 * hourMs - 500).toISOString(), to: at(-15 * hourMs) },
  arrived: 120,
  arrived_lost: 2,
  last_arrival_at: at(-3 * hourMs),
  acknowledged_at: null,
}

export const reconciled: ReconcileJson = {
  id: 1,
  state: 'done',
  from: at(-20 * hourMs),
  to: at(-15 * hourMs),
  started_at: at(-minuteMs),
  ended_at: at(0),
  wallets: 12,
  wallets_done: 12,
  trades: 340,
  requests: 24,
  error: null,
  notes: ['Wallets that no stored event names are not asked for.'],
  candidates: [
    {
      network: 'ethereum',
      wallet,
      tx_hash: tx,
      traded_at: at(-16 * hourMs),
      summary: 'buy 12 ABC for $340',
    },
  ],
  candidate_count: 1,
}

export const health: HealthJson = {
  missing_sequence_numbers: 0,
  dead_letters: 3,
  quarantined: 0,
  oldest_open_at: null,
  paused: false,
  paused_handlers: ['ledger'],
  shut_sinks: [],
  not_loaded: [],
  gaps: [
    gap,
    { ...gap, from: at(-40 * hourMs), to: at(-40 * hourMs + 9_000), kind: 'stopped', clean_stop: true, lost: null },
  ],
  subscription: {
    id: 1,
    digest: 'ab12',
    url: 'https://inbox.example.com/webhooks',
    events: ['*'],
    secret_label: 'primary',
    state: 'registered',
    at: at(-100 * hourMs),
    answer: null,
  },
  warnings: [...warnings],
  sender,
  sources: [{ source: 'default', sender, retries: describeSchedule(defaultSender) }],
  silences: [
    {
      type: 'pump.graduation',
      network: 'solana',
      last_at: at(-minuteMs),
      silent_ms: minuteMs,
      usual_ms: 10 * minuteMs,
      alarm_after_ms: 40 * minuteMs,
      state: 'usual',
      learning: null,
    },
    {
      type: 'wallet.large_trade',
      network: 'ethereum',
      last_at: at(-2 * hourMs),
      silent_ms: 2 * hourMs,
      usual_ms: 5 * minuteMs,
      alarm_after_ms: 20 * minuteMs,
      state: 'silent',
      learning: null,
    },
    {
      type: 'token.new_listing',
      network: 'base',
      last_at: at(-minuteMs),
      silent_ms: minuteMs,
      usual_ms: minuteMs,
      alarm_after_ms: 10 * minuteMs,
      state: 'learning',
      learning: { until: at(hourMs), missing_events: 12 },
    },
  ],
  reconcile: null,
  reconcile_configured: true,
}

const secrets: Pick<SettingsJson, 'secrets'>['secrets'] = [
  { label: 'primary', configured: true, first_used_at: at(-100 * hourMs), last_used_at: at(-1_000), events: 1_234_000 },
  { label: 'next', configured: true, first_used_at: null, last_used_at: null, events: 0 },
  { label: 'older', configured: false, first_used_at: at(-900 * hourMs), last_used_at: at(-100 * hourMs), events: 567 },
]

const setting = (name: string, value: string, change: object = {}) => ({
  name,
  value,
  origin: 'default' as const,
  secret: false,
  default: '',
  ...change,
})

const settings: SettingsJson = {
  settings: [
    setting('INBOX_SECRETS', 'set (labels: primary, next)', { origin: 'file', secret: true }),
    setting('INBOX_HOST', '0.0.0.0', { origin: 'environment', default: '127.0.0.1' }),
    setting('INBOX_PORT', '8080', { default: '8080' }),
    setting('INBOX_PATH', '/webhooks', { default: '/webhooks' }),
    setting('INBOX_ADMIN_TOKEN', 'set', { origin: 'environment', secret: true }),
    setting('INBOX_HANDLERS', '/srv/inbox/handlers', { origin: 'config', default: './handlers' }),
    setting('INBOX_TLS_CERT_FILE', 'not set'),
  ],
  secrets,
}

const replicas: { readonly data: readonly ReplicaJson[] } = {
  data: [
    {
      id: 'inbox-0-1a2b3c',
      version: '0.1.0',
      started_at: at(-hourMs),
      seen_at: at(-1_000),
      alive: true,
      self: true,
      leader: true,
      load: { cpu: 0.25, memory_bytes: 188_743_680 },
    },
  ],
}

const acts: readonly (readonly [action: string, detail: AuditJson['detail']])[] = [
  ['handler.pause', { handler: 'ledger' }],
  ['handler.resume', { handler: null }],
  ['dead.drop', { reason: 'the book is closed', runs: Array.from({ length: 40 }, (_, index) => index + 1) }],
  ['quarantine.retry', { id: 'sha256:ab', event: 'evt_1' }],
  ['replay.start', { replay: 3, filter: { type: 'wallet.*' }, perSecond: null, newKeys: false }],
  ['something.new', { of: 'a later version' }],
]

const audit: ListJson<AuditJson> = {
  data: acts.map(([action, detail], index) => ({
    id: acts.length - index,
    at: at(-index * minuteMs),
    action,
    detail,
    by: index === 1 ? null : 'operator (session) 127.0.0.1',
    user_agent: index === 0 ? 'Mozilla/5.0 (X11; Linux x86_64)' : null,
  })),
  next_cursor: null,
}

/** Responses to GET for Handlers, Health, Settings, Audit and the charts of Overview, by path below /api/v1. */
export const samples: Readonly<Record<string, unknown>> = {
  '/activity': activityOf('hour'),
  '/handlers': handlers,
  '/health': health,
  '/reconcile': { reconcile: null },
  '/secrets': { data: secrets },
  '/settings': settings,
  '/replicas': replicas,
  '/audit': audit,
}
