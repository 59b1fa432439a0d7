import { createHash } from 'node:crypto'
import type { ConflictDetailJson, ConflictJson } from '../../../src/admin/conflicts.ts'
import type { DeadGroupsJson, DeadLetterJson } from '../../../src/admin/dead-letters.ts'
import type { DriftJson } from '../../../src/admin/health.ts'
import type { QuarantinedDetailJson, QuarantinedJson, QuarantineGroupsJson } from '../../../src/admin/quarantine.ts'
import type { RejectExplanationJson, RejectGroupJson, RejectListJson } from '../../../src/admin/rejects.ts'
import type { ReplayJson } from '../../../src/admin/replays.ts'
import type { ListJson } from '../../../src/web/ui/api.tsx'
import { nasty } from './nasty.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 14, minute)).toISOString()
const list = <T>(data: readonly T[], next: string | null = null): ListJson<T> => ({ data, next_cursor: next })
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64')

/** A dead letter. Every third one blocks its key. */
export function letterOf(run: number, change: Partial<DeadLetterJson> = {}): DeadLetterJson {
  const error = {
    name: 'TypeError',
    message: `cannot read amount ${run}`,
    stack: `TypeError: cannot read amount ${run}\n    at run (large-trades.ts:${run}:7)`,
  }
  return {
    run_id: run,
    event_id: `evt_${String(run).padStart(26, '0')}`,
    type: 'wallet.large_trade',
    handler: 'large-trades',
    attempt: 10,
    crashed: 0,
    died_at: at(run % 60),
    held: run % 3 === 0,
    error,
    ...change,
  }
}

const nastyLetter = letterOf(6, {
  event_id: nasty.markup,
  type: nasty.markup,
  handler: nasty.bidi,
  error: { name: nasty.markup, message: nasty.markup + nasty.controls, stack: nasty.bidi + nasty.long },
})
const letters: readonly DeadLetterJson[] = [...[1, 2, 3, 4, 5].map((run) => letterOf(run)), nastyLetter]

export const deadGroups: DeadGroupsJson = {
  data: [
    {
      handler: 'large-trades',
      group: 'TypeError: cannot read amount # at run (handlers/large-trades.ts:8:11)',
      frame: 'at run (handlers/large-trades.ts:8:11)',
      count: 1_204,
      held: 3,
      first_died_at: at(1),
      last_died_at: at(5),
      sample: letterOf(5),
    },
    {
      handler: nasty.bidi,
      group: nasty.markup,
      frame: null,
      count: 1,
      held: 1,
      first_died_at: at(6),
      last_died_at: at(6),
      sample: nastyLetter,
    },
  ],
  complete: false,
}

/** Bytes that are no UTF-8, and markup after them. */
export const unusableBytes = Uint8Array.from([0xff, 0x00, ...Buffer.from(`{"a": "${nasty.markup}\u202e"`)])
export const bodyId = `sha256:${createHash('sha256').update(unusableBytes).digest('hex')}`

function bodyOf(id: string, change: Partial<QuarantinedJson> = {}): QuarantinedJson {
  return {
    id,
    reason: 'not_json',
    received_at: at(9),
    secret_label: 'main',
    size_bytes: 1_500,
    count: 2,
    preview: '{"id": "evt_1", "ty',
    ...change,
  }
}

const nastyBody = bodyOf(bodyId, {
  reason: 'not_utf8',
  secret_label: nasty.bidi,
  size_bytes: unusableBytes.length,
  preview: nasty.markup,
})
const quarantinedDetail: QuarantinedDetailJson = { ...nastyBody, raw_base64: base64(unusableBytes) }

const quarantineGroups: QuarantineGroupsJson = {
  data: [
    { reason: 'not_json', secret_label: 'main', count: 3, size_bytes: 4_500, first_at: at(1), last_at: at(9) },
    { reason: 'not_json', secret_label: nasty.bidi, count: 1, size_bytes: 10, first_at: at(0), last_at: at(8) },
    { reason: 'not_utf8', secret_label: 'main', count: 1, size_bytes: 90, first_at: at(2), last_at: at(2) },
    { reason: nasty.markup, secret_label: 'main', count: 1, size_bytes: 90, first_at: at(2), last_at: at(2) },
  ],
}

function rejectOf(id: string, change: Partial<RejectGroupJson> = {}): RejectGroupJson {
  return {
    id,
    reason: 'signature_mismatch',
    client: '203.0.113.9',
    count: 12,
    first_at: at(1),
    last_at: at(3),
    method: 'POST',
    path: '/webhooks',
    size_bytes: 2_048,
    explainable: true,
    ...change,
  }
}

const rejects: RejectListJson = {
  data: [
    rejectOf('r1'),
    rejectOf('r2', { client: nasty.bidi, path: nasty.markup, method: nasty.markup, count: 1, last_at: at(9) }),
    rejectOf('r3', { reason: 'body_too_large', size_bytes: null, explainable: false, count: 2 }),
    rejectOf('r4', { reason: nasty.markup, explainable: false, count: 1 }),
  ],
  dropped_groups: 7,
}

const explanation: RejectExplanationJson = {
  id: 'r1',
  code: 'base64',
  matched_label: 'main',
  message: 'The digest is written in base64. Send it as 64 hex digits.',
  headers: { 'content-type': 'application/json', 'x-note': nasty.markup, [nasty.bidi]: nasty.controls },
  preview: nasty.markup,
}

const digest = 'ab12'.repeat(16)
export const conflict: ConflictJson = {
  event_id: 'evt_00000000000000000000000007',
  type: nasty.markup,
  digest,
  received_at: at(20),
  count: 2,
  size_bytes: 120,
}
const conflictDetail: ConflictDetailJson = {
  ...conflict,
  kept_raw_base64: base64('{"id":"evt_7","data":{"amount_usd":1.10,"symbol":"ABC","old":true}}'),
  raw_base64: base64(
    `{"id":"evt_7","data":{"amount_usd":1.1,"symbol":"ABC","name":${JSON.stringify(nasty.markup)},"to":"\u202e"}}`,
  ),
}

const drift: readonly DriftJson[] = [
  {
    kind: 'new_field',
    type: 'wallet.large_trade',
    path: 'data.gas_usd',
    expected: 'no such field',
    example: '0.31',
    count: 14,
    first_at: at(1),
    last_at: at(30),
    first_event_id: 'evt_00000000000000000000000007',
  },
  {
    kind: 'wrong_type',
    type: nasty.markup,
    path: nasty.bidi,
    expected: nasty.markup,
    example: nasty.markup,
    count: 1,
    first_at: at(2),
    last_at: at(2),
    first_event_id: nasty.markup,
  },
]

export function replayOf(id: number, change: Partial<ReplayJson> = {}): ReplayJson {
  return {
    id,
    state: 'running',
    filter: { type: 'wallet.large_trade', network: 'ethereum', from: at(0), handler: 'large-trades' },
    per_second: 50,
    new_keys: false,
    created_at: at(2),
    ended_at: null,
    progress: 0.425,
    events: 800,
    runs: 790,
    skipped: 10,
    open_runs: 12,
    ...change,
  }
}

const replays: readonly ReplayJson[] = [
  replayOf(3),
  replayOf(2, {
    state: 'done',
    filter: { type: nasty.markup, address: nasty.bidi, handler: nasty.long },
    per_second: null,
    new_keys: true,
    ended_at: at(9),
    progress: 1,
  }),
  replayOf(1, { state: 'cancelled', filter: { ids: ['evt_1'] }, ended_at: at(3), progress: 0.5 }),
]

/** Responses to GET for the pages that test/e2e/console-c tests, by path below /api/v1. */
export const samples: Readonly<Record<string, unknown>> = {
  '/dead-letters': list(letters),
  '/dead-letters/groups': deadGroups,
  '/quarantine': list([bodyOf('sha256:00aa'), bodyOf('sha256:00bb'), nastyBody]),
  '/quarantine/groups': quarantineGroups,
  [`/quarantine/${encodeURIComponent(bodyId)}`]: quarantinedDetail,
  '/rejects': rejects,
  '/rejects/r1': explanation,
  '/conflicts': list([conflict]),
  [`/conflicts/${conflict.event_id}`]: conflictDetail,
  '/drift': { data: drift },
  '/replays': list(replays),
}
