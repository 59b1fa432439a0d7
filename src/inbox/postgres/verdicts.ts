import { errorGroupOf } from '../error-group.ts'
import { dueAt, versionOf, type Effects, type Lease, type Outcome, type RunError, type SettleResult } from '../port.ts'
import { bigintArray, numbersIn, textArray } from './arrays.ts'
import type { Rows } from './database.ts'
import { rangeOf } from './state-ranges.ts'
import { toStored, toStoredOrNull } from './text.ts'

/** A lease that is given back unworked. */
type Release = Pick<Lease, 'runId' | 'token'> & { readonly kind: 'release' }

const maxErrorMessage = 2_000
const maxErrorStack = 8_000
/** More than one expired value per write of one that will expire, so that there are ever fewer of them. */
const purgedPerWrite = 4

export interface Settled {
  /** One per verdict, in order. */
  readonly results: readonly SettleResult[]
  /** Whether there may be something to claim that was not before. */
  readonly areReady: boolean
}

/** Reports what became of leases. `now` in milliseconds since 1970. Throws `store_unavailable`, `store_full`. */
export async function settle(rows: Rows, verdicts: readonly (Outcome | Release)[], now: number): Promise<Settled> {
  const results = verdicts.map((): SettleResult => 'stale')
  if (verdicts.length === 0) return { results, areReady: false }
  const [row] = await rows.query<{ applied: string; conflicts: string; areReady: boolean }>(
    `SELECT array_to_string(applied, ' ') AS applied, array_to_string(conflicts, ' ') AS conflicts, are_ready AS "areReady"
     FROM inbox.settle($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
       $8::json, $9::json, $10::json, $11::integer, $12::bigint)`,
    valuesOf(verdicts, now),
  )
  for (const place of numbersIn(row?.applied)) results[place - 1] = 'applied'
  for (const place of numbersIn(row?.conflicts)) results[place - 1] = 'conflict'
  return { results, areReady: row?.areReady ?? false }
}

function valuesOf(verdicts: readonly (Outcome | Release)[], now: number): unknown[] {
  const numbers = (of: (verdict: Outcome | Release) => number) =>
    bigintArray(verdicts.map((verdict) => Math.trunc(of(verdict))))
  const told = verdicts.map((verdict, index) => ({ verdict, place: index + 1 }))
  return [
    numbers(({ runId }) => runId),
    numbers(({ token }) => token),
    textArray(verdicts.map(({ kind }) => kind)),
    numbers((verdict) => (verdict.kind === 'retry' || verdict.kind === 'snooze' ? dueAt(verdict, now) : 0)),
    numbers((verdict) => (verdict.kind === 'release' ? 0 : verdict.startedAt)),
    numbers((verdict) => (verdict.kind === 'release' ? 0 : verdict.endedAt)),
    textArray(verdicts.map((verdict) => (verdict.kind === 'dead' ? toStored(errorGroupOf(verdict.error)) : null))),
    JSON.stringify(
      told.flatMap(({ verdict, place }) =>
        verdict.kind === 'retry' || verdict.kind === 'dead' ? { place, ...errorToStored(verdict.error) } : [],
      ),
    ),
    JSON.stringify(told.flatMap(({ verdict, place }) => stateOf(verdict, place))),
    JSON.stringify(told.flatMap(({ verdict, place }) => itemsOf(verdict, place))),
    purgedPerWrite *
      verdicts.flatMap((verdict) => effectsOf(verdict)?.writes ?? []).filter(({ expiresAt }) => expiresAt !== null)
        .length,
    now,
  ]
}

/** What is cut off may leave half a character, which is no text that PostgreSQL takes. */
function errorToStored({ name, message, stack }: RunError): { name: string; message: string; stack: string | null } {
  return {
    name: wellFormed(name),
    message: wellFormed(message.slice(0, maxErrorMessage)),
    stack: stack === undefined ? null : wellFormed(stack.slice(0, maxErrorStack)),
  }
}

function wellFormed(text: string): string {
  return toStored(text.toWellFormed())
}

function effectsOf(verdict: Outcome | Release): Effects | undefined {
  return verdict.kind === 'done' ? verdict.effects : undefined
}

function stateOf(verdict: Outcome | Release, place: number): object[] {
  const { reads = [], writes = [] } = effectsOf(verdict) ?? {}
  if (reads.length + writes.length === 0) return []
  return [
    {
      place,
      version: versionOf(verdict),
      reads: reads.map(({ query, found }) => ({
        ...rangeOf(query),
        keys: found.map(({ key }) => toStored(key)),
        versions: found.map(({ version }) => version),
      })),
      writes: writes.map(({ key, value, expiresAt }) => ({
        key: toStored(key),
        value: toStoredOrNull(value),
        expiresAt,
      })),
    },
  ]
}

function itemsOf(verdict: Outcome | Release, place: number): object[] {
  return (effectsOf(verdict)?.items ?? []).map(({ sink, key, payload, idempotencyKey }) => ({
    place,
    sink: toStored(sink),
    key: key === null ? null : wellFormed(key),
    payload: wellFormed(payload),
    idempotencyKey: wellFormed(idempotencyKey),
  }))
}
