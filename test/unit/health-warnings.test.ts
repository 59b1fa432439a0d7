import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { DriftRecord } from '../../src/health/drift.ts'
import type { Previous, ProcessFacts, SenderFacts, StoredFacts, Warning } from '../../src/health/facts.ts'
import type { SenderMeter } from '../../src/health/meter.ts'
import { defaultSender, type Sender } from '../../src/health/senders.ts'
import type { Silence } from '../../src/health/silence.ts'
import { findWarnings, processCodes } from '../../src/health/warnings.ts'
import type { GapRecord, HandlerStats, InboxStats } from '../../src/inbox/port.ts'
import { undocumented } from '../../src/sources/provider.ts'
import { handlerStats, inboxStats } from '../support/stats.ts'

const now = Date.UTC(2026, 0, 2)
const minute = 60_000
const hour = 60 * minute

const quiet: SenderMeter = {
  windowMs: 5 * minute,
  deliveries: 0,
  acknowledged: 0,
  late: 0,
  refused: 0,
  unusable: 0,
  successRate: null,
  p50Ms: null,
  p99Ms: null,
  maxMs: null,
}
const noRejections = { body_too_large: 0, content_encoding_unsupported: 0, bad_request: 0, body_incomplete: 0 }
const meterOf = (acknowledged: number, refused = 0, p99Ms = 5, late = 0): SenderMeter => {
  const deliveries = acknowledged + refused + late
  return { ...quiet, deliveries, acknowledged, refused, late, p99Ms, successRate: acknowledged / deliveries }
}
const noDeliveries: SenderFacts = {
  sender: defaultSender,
  lastMinutes: quiet,
  lastHour: quiet,
  mismatches: 0,
  mismatchesLastHour: 0,
  rejections: noRejections,
  signatures: { signed: 0, old: 0 },
}
const healthy: ProcessFacts = {
  now,
  startedAt: now - 30 * 24 * hour,
  store: { ok: true },
  freeBytes: 1e12,
  reserveBytes: 1e8,
  senders: [noDeliveries],
  handlers: ['trades'],
  openBreakers: new Map(),
  secretLabels: ['main'],
  drift: [],
}
const stats = inboxStats({ lastSeq: 1, handlers: [handlerStats('trades')] })
const empty: StoredFacts = {
  stats,
  newestDeadAt: new Map(),
  newestQuarantinedAt: null,
  newestConflictAt: null,
  gaps: [],
  silences: [],
  secretUses: [{ label: 'main', firstAt: 0, lastAt: now - minute, count: 5 }],
}
const never: Previous = { since: () => null, level: () => null }
const since = (at: number, level: Warning['level'] = 'warning'): Previous => ({
  since: () => at,
  level: () => level,
})

/** `facts`: those of the default source, too. */
function codes(
  facts: Partial<ProcessFacts & SenderFacts>,
  stored: Partial<StoredFacts> | null = {},
  before = never,
): string[] {
  const senders = [{ ...noDeliveries, ...facts }]
  const found = findWarnings({ ...healthy, senders, ...facts }, stored && { ...empty, ...stored }, before)
  return found.map(({ level, code, subject }) => `${level} ${code}${subject === '' ? '' : ` (${subject})`}`)
}
const withRow = (change: Partial<HandlerStats>) => ({ stats: { ...stats, handlers: [handlerStats('trades', change)] } })
const withStats = (change: Partial<InboxStats>) => ({ stats: { ...stats, ...change } })

const drift: DriftRecord = {
  kind: 'wrong_type',
  type: 't',
  path: 'data.x',
  expected: 'text',
  example: '1',
  count: 1,
  firstAt: now,
  lastAt: now,
  firstEventId: 'evt_1',
}
const silent: Silence = {
  type: 't',
  network: 'base',
  lastAt: 1,
  silentMs: 9e6,
  usualMs: 1,
  alarmAfterMs: 2,
  state: 'silent',
  learning: null,
}

const gap: GapRecord = {
  from: now - 30 * hour,
  to: now - hour,
  kind: 'killed',
  retriedUntil: now + hour,
  lost: { from: now - 30 * hour, to: now - 20 * hour },
  arrived: 0,
  arrivedLost: 0,
  lastArrivalAt: null,
  acknowledgedAt: null,
}

describe('warnings', () => {
  test.each<[string, Partial<ProcessFacts & SenderFacts>, string[]]>([
    ['few refusals among many', { lastMinutes: meterOf(1_000, 2) }, []],
    ['some refusals', { lastMinutes: meterOf(100, 3) }, ['warning deliveries_refused']],
    ['half of them refused', { lastMinutes: meterOf(3, 3) }, ['critical deliveries_refused']],
    ['R79 responses near the limit', { lastMinutes: meterOf(100, 0, 2_600) }, ['warning ack_slow']],
    ['R79 responses just before the limit', { lastMinutes: meterOf(100, 0, 4_100) }, ['critical ack_slow']],
    ['few slow responses', { lastMinutes: meterOf(5, 0, 4_100) }, []],
    ['R86 one in ten failed in an hour', { lastHour: meterOf(90, 0, 5, 10) }, ['warning success_rate']],
    ['R86 most failed in an hour', { lastHour: meterOf(10, 30) }, ['critical success_rate']],
    ['an unwritable store', { store: { ok: false, reason: 'EIO' } }, ['critical store_unwritable']],
    ['a full disk', { store: { ok: false, reason: 'full', full: true } }, ['critical disk_low']],
    ['a disk that is almost full', { freeBytes: 3.9e8 }, ['warning disk_low']],
    [
      'many wrong signatures among valid ones',
      { mismatches: 20, mismatchesLastHour: 20, lastHour: meterOf(9) },
      ['warning rejects_burst'],
    ],
    ['only wrong signatures', { mismatchesLastHour: 3 }, ['critical rejects_burst']],
    [
      'wrong signatures among authentic deliveries that are not usable events',
      { mismatchesLastHour: 3, lastHour: { ...quiet, deliveries: 1, unusable: 1 } },
      [],
    ],
    ['few rejections', { rejections: { ...noRejections, body_too_large: 1, bad_request: 1 } }, []],
    [
      'several rejections',
      { rejections: { ...noRejections, body_too_large: 1, body_incomplete: 2 } },
      ['warning deliveries_rejected'],
    ],
    [
      'R79 several 422 responses',
      { lastMinutes: { ...meterOf(97), deliveries: 100, unusable: 3 } },
      ['warning deliveries_rejected'],
    ],
    [
      'a sink that fails for minutes',
      { openBreakers: new Map([['desk', { reason: 'breaker', since: now - 6 * minute, failures: 9 }]]) },
      ['warning sink_shut (desk)'],
    ],
    [
      'a sink that asked for a pause, or just began to fail',
      {
        openBreakers: new Map([
          ['a', { reason: 'pause', since: now - hour, failures: 0 }],
          ['b', { reason: 'breaker', since: now - minute, failures: 5 }],
        ]),
      },
      [],
    ],
  ])('%s', (_name, facts, expected) => {
    expect(codes(facts)).toEqual(expected)
    // Warnings of the process need no store.
    expect(codes(facts, null)).toEqual(expected.filter((one) => !one.includes('sink_shut')))
  })

  test.each<[string, Partial<StoredFacts>, string[]]>([
    ['an old backlog', withStats({ oldestOpenAt: now - 20 * minute }), ['warning backlog_old']],
    [
      'an old backlog while all handlers are paused',
      withStats({ oldestOpenAt: now - 20 * minute, paused: true }),
      ['info paused'],
    ],
    ['a paused handler', withRow({ paused: true }), ['info paused (trades)']],
    [
      'a new dead letter',
      { ...withRow({ dead: 1 }), newestDeadAt: new Map([['trades', now - hour]]) },
      ['warning dead_letters (trades)'],
    ],
    [
      'an old dead letter',
      { ...withRow({ dead: 1 }), newestDeadAt: new Map([['trades', now - 25 * hour]]) },
      ['info dead_letters (trades)'],
    ],
    ['dead letters of unknown age', withRow({ dead: 2 }), ['warning dead_letters (trades)']],
    [
      'blocked keys',
      { ...withRow({ held: 2 }), newestDeadAt: new Map([['trades', 0]]) },
      ['warning held_keys (trades)', 'info dead_letters (trades)'],
    ],
    ['runs of a handler that is not loaded', withRow({ handler: 'gone', ready: 2 }), ['warning not_loaded (gone)']],
    ['a new quarantined body', { ...withStats({ quarantined: 1 }), newestQuarantinedAt: now }, ['warning quarantine']],
    ['a conflict', { newestConflictAt: now - hour }, ['warning conflicts']],
    ['an old conflict', { newestConflictAt: now - 25 * hour }, []],
    ['missing events', withStats({ missingSeqs: 3 }), ['critical missing_events']],
    ['a downtime with lost events', { gaps: [gap] }, ['critical gap_lost (2025-12-31 18:00:00 UTC)']],
    ['an acknowledged downtime', { gaps: [{ ...gap, acknowledgedAt: now }] }, []],
    [
      'silence',
      {
        silences: [{ ...silent, type: 'v', state: 'gone' }, silent, { ...silent, type: 'u', state: 'usual' }],
      },
      ['warning silence (t on base)'],
    ],
    [
      'a removed secret',
      {
        secretUses: [
          { label: 'main', firstAt: 0, lastAt: now - minute, count: 5 },
          { label: 'old', firstAt: 0, lastAt: now - hour, count: 5 },
        ],
      },
      ['info secret_gone_in_use (old)'],
    ],
  ])('%s', (_name, stored, expected) => {
    expect(codes({}, stored)).toEqual(expected)
  })

  test('above the limit the same warnings stay active', () => {
    const many = Array.from({ length: 30 }, (_, index) => {
      const times = { firstAt: now - hour + index * minute, lastAt: now - index }
      return { ...drift, type: 'wallet.large_trade', path: `data.field_${index}`, ...times }
    })
    const silentAt = (at: number): Partial<StoredFacts> => ({
      silences: Array.from({ length: 30 }, (_, index) => ({
        ...silent,
        type: `type-${index}`,
        network: null,
        silentMs: at - now + 100 * minute,
        alarmAfterMs: (10 + index) * minute - index * 1_000,
      })).toSorted((a, b) => (index(a) % 7) - (index(b) % 7)),
    })
    const index = ({ type }: { readonly type: string }) => Number(type.slice(5))
    const drifts = codes({ drift: many })
    expect(drifts).toHaveLength(20)
    expect(codes({ drift: many.toReversed() })).toEqual(drifts)
    const old: DriftRecord = { ...drift, path: '', kind: 'new_field', firstAt: now - 2 * hour }
    expect(codes({ drift: [old, ...many] })).toEqual(drifts)
    const silences = codes({}, silentAt(now))
    expect(silences).toHaveLength(20)
    expect(silences[0]).toBe('warning silence (type-0)')
    expect(codes({ now: now + hour }, silentAt(now + hour))).toEqual(silences)
  })

  test('drift is news for a day, and additions are harmless (R125, R127)', () => {
    const records: readonly DriftRecord[] = [
      { ...drift, kind: 'new_field' },
      drift,
      { ...drift, kind: 'missing_field', firstAt: now - 25 * hour },
      { ...drift, kind: 'unknown_type', path: '', type: 'x'.repeat(250) },
    ]
    expect(codes({ drift: records })).toEqual([
      'warning drift (wrong_type t data.x)',
      'info drift (new_field t data.x)',
      expect.stringMatching(/^info drift \(unknown_type x{187}… [0-9a-f]{12}\)$/),
    ])
  })

  test('unused secrets and removed secrets that are still in use', () => {
    const two = { secretLabels: ['main', 'next'] }
    expect(codes(two)).toEqual(['info secret_unused (next)'])
    expect(codes({ ...two, startedAt: now - hour })).toEqual([])
    const uses = [
      { label: 'main', firstAt: 0, lastAt: now - 8 * 24 * hour, count: 1 },
      { label: 'next', firstAt: 0, lastAt: now - minute, count: 1 },
    ]
    expect(codes(two, { secretUses: uses })).toEqual(['info secret_unused (main)'])
    const gone = { secretUses: [{ label: 'old', firstAt: 0, lastAt: now - minute, count: 1 }] }
    const info = 'info secret_gone_in_use (old)'
    const critical = 'critical secret_gone_in_use (old)'
    const missed = (facts: Partial<SenderFacts>, before?: Previous) =>
      codes(facts, gone, before).find((one) => one.includes('secret_gone_in_use'))
    const others = meterOf(9)
    // Anyone can send wrong signatures. Authentic deliveries show that the sender uses another secret.
    expect(missed({ mismatches: 1, mismatchesLastHour: 1 })).toBe(info)
    expect(missed({ mismatches: 4, mismatchesLastHour: 4 })).toBe(info)
    expect(missed({ mismatches: 15, mismatchesLastHour: 15, lastMinutes: others, lastHour: others })).toBe(info)
    expect(missed({ mismatches: 5, mismatchesLastHour: 5, lastHour: others })).toBe(critical)
    expect(missed({ mismatches: 1, mismatchesLastHour: 5, lastHour: others })).toBe(info)
    // A sender with few events.
    expect(missed({ mismatches: 1, mismatchesLastHour: 5 })).toBe(critical)
    const on = since(now - minute, 'critical')
    expect(missed({ mismatchesLastHour: 1, lastHour: others }, on)).toBe(critical)
    expect(missed({ mismatches: 5, mismatchesLastHour: 5, lastMinutes: others, lastHour: others }, on)).toBe(info)
    expect(missed({}, on)).toBe(info)
    const other = { secretUses: ['(own)', 'desk/old'].map((label) => ({ label, firstAt: 0, lastAt: now, count: 1 })) }
    expect(codes({}, other)).toEqual([])
    // Secrets of a quiet source are not unused because another source is busy.
    expect(codes({ secretLabels: ['desk/main', 'desk/next', 'other/main'] }, other)).toEqual([])
  })

  test('end at another threshold than they begin', () => {
    const off = (facts: Partial<ProcessFacts & SenderFacts>) => codes(facts)
    const on = (facts: Partial<ProcessFacts & SenderFacts>, level?: Warning['level']) =>
      codes(facts, null, since(now - minute, level))
    for (const facts of [
      { lastMinutes: meterOf(1_000, 1) },
      { lastMinutes: meterOf(100, 0, 2_100) },
      { lastHour: meterOf(97, 3) },
      { freeBytes: 4.5e8 },
      { mismatches: 6, mismatchesLastHour: 6, lastHour: meterOf(5) },
      { rejections: { ...noRejections, content_encoding_unsupported: 1 } },
    ]) {
      expect(off(facts)).toEqual([])
      expect(on(facts)).toHaveLength(1)
    }
    expect(on({ lastMinutes: meterOf(100, 0, 3_600) }, 'critical')).toContain('critical ack_slow')
    expect(on({ lastMinutes: meterOf(100, 0, 3_600) }, 'warning')).toContain('warning ack_slow')
  })

  test('from rules that need no store are in docs/operations.md', () => {
    const docs = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
    for (const code of processCodes) expect(docs).toContain(`| \`${code}\` |`)
  })

  test('of a source follow its sender: limit, retries and secrets', () => {
    const impatient: Sender = {
      source: 'desk',
      ackLimitMs: 1_000,
      retries: { ...undocumented, delaysMs: [1_000], final4xx: [401] },
      rejectsOld: true,
      secretsSetting: 'sources.desk.secrets',
    }
    const found = (facts: Partial<SenderFacts>, sender: Partial<Sender> = {}, stored: Partial<StoredFacts> = {}) =>
      findWarnings(
        { ...healthy, senders: [noDeliveries, { ...noDeliveries, ...facts, sender: { ...impatient, ...sender } }] },
        { ...empty, ...stored },
        never,
      )
    expect(found({ lastMinutes: meterOf(100, 0, 900) })).toMatchObject([
      { code: 'ack_slow', subject: 'desk', level: 'critical', title: expect.stringMatching(/^Source desk: .* 1 s$/) },
    ])
    expect(found({ lastMinutes: meterOf(100, 0, 9_000) }, { ackLimitMs: null })).toEqual([])
    expect(found({ mismatchesLastHour: 3 })).toMatchObject([
      { code: 'rejects_burst', text: expect.stringMatching(/sources\.desk\.secrets.*such events are lost/) },
    ])
    expect(found({ signatures: { signed: 4, old: 2 } })).toEqual([])
    const clock = { code: 'receiver_clock', subject: 'desk', level: 'critical' }
    expect(found({ signatures: { signed: 4, old: 3 } })).toMatchObject([clock])
    expect(found({ signatures: { signed: 4, old: 3 } }, { rejectsOld: false })).toMatchObject([
      { ...clock, level: 'warning' },
    ])
    // The default sender still retries; this one has given up.
    const short = { ...gap, from: now - 2 * minute, to: now - minute, lost: null }
    const [lost] = found({}, {}, { gaps: [short] })
    expect(lost).toMatchObject({ code: 'gap_lost' })
    expect(lost?.text).toMatch(
      /^Events of source desk first sent from .* are lost\. The sender retries .* 1 times within 1 s, .*\nReplay the deliveries/,
    )
    const unknown = { retries: undocumented }
    expect(found({}, unknown, { gaps: [short] })).toEqual([])
    const gone = { secretUses: [{ label: 'desk/old', firstAt: 0, lastAt: now - 1_000, count: 1 }] }
    expect(found({}, {}, gone)).toMatchObject([{ code: 'secret_gone_in_use', subject: 'desk/old' }])
    expect(found({}, { secretsSetting: null }, gone)).toEqual([])
  })

  test('name the lost events of a downtime and of a restored backup, with their advice', () => {
    const textOf = (change: Partial<GapRecord>) =>
      findWarnings(healthy, { ...empty, gaps: [{ ...gap, ...change }] }, never)[0]?.text
    expect(textOf({ arrivedLost: 2 })).toMatch(
      /^Events first sent from 2025-12-31 18:00:00 UTC to 2026-01-01 04:00:00 UTC are lost\. The sender retries .*\n2 events of that time arrived since\.\nReplay .* doctor --acknowledge\.$/,
    )
    expect(textOf({ kind: 'restored' })).toContain('The backup lacks them')
  })

  test('a pause of more than an hour is a warning', () => {
    expect(codes({}, withRow({ paused: true }), since(now - hour - 1))).toEqual(['warning paused (trades)'])
  })

  test('contain no external text', () => {
    const foreign = 'evil.type'
    const record = { ...drift, kind: 'unknown_type', type: foreign, path: foreign, expected: foreign, example: foreign }
    const silence = { ...silent, type: foreign, network: foreign }
    const facts = { ...healthy, store: { ok: false, reason: foreign }, drift: [record as DriftRecord] }
    const found = findWarnings(facts, { ...empty, silences: [silence] }, never)
    expect(found).toHaveLength(3)
    for (const { title, text } of found) expect(`${title} ${text}`).not.toContain('evil')
  })
})
