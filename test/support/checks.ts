import { answerLimitMs, isAcknowledged, type RecordedRequest } from './history.ts'
import type { Effect, StoredCopy } from './ledger.ts'
import type { Life } from './sidecar.ts'

/** The history of a service, after all events were sent again and all runs have ended. */
export interface Evidence {
  readonly requests: readonly RecordedRequest[]
  readonly stored: readonly StoredCopy[]
  readonly effects: readonly Effect[]
  readonly lives: readonly Life[]
  /** Output of its processes. */
  readonly output: string
  /** Events with requeued dead letters: without order, and with attempts counted from 0. */
  readonly requeued?: ReadonlySet<string>
  /** Texts that must not occur in the output. */
  readonly secrets: readonly string[]
}

/** A violated property. */
export interface Finding {
  readonly property: 'P1' | 'P2' | 'P3' | 'P4' | 'P5' | 'P6' | 'P7' | 'P8'
  readonly what: string
}

const shownPerCheck = 5
const readyLimitMs = 10_000
/** Exit codes of a requested stop, and of an exit for a restart. */
const plannedExits: ReadonlySet<number | null> = new Set([0, 75])

/** Checks the properties over a recorded history; an empty list if they hold. */
export function checkHistory(evidence: Evidence): Finding[] {
  const checks = [
    noAcknowledgedLoss,
    noForgery,
    storedOnce,
    handledAtLeastOnce,
    repeatedOnlyAfterCrash,
    orderPerKey,
    answeredInTime,
    recovered,
    noSecretShown,
  ]
  return checks.flatMap((check) => [...check(evidence)].slice(0, shownPerCheck))
}

/** P1: every acknowledged id is stored with its exact bytes. */
function* noAcknowledgedLoss({ requests, stored }: Evidence): Iterable<Finding> {
  const digests = new Map(stored.map(({ id, digest }) => [id, digest]))
  for (const request of firstAcknowledgements(requests).values()) {
    const digest = digests.get(request.id)
    if (digest === undefined) yield { property: 'P1', what: `${request.id} was acknowledged and is not stored` }
    else if (digest === null) yield { property: 'P1', what: `${request.id} is stored without its bytes` }
    else if (digest !== request.digest) yield { property: 'P1', what: `${request.id} is stored with other bytes` }
  }
}

/** P2: only signed bytes are stored; forged requests get 401, signed ones never do. */
function* noForgery({ requests, stored }: Evidence): Iterable<Finding> {
  const signed = new Set(requests.filter(({ op }) => op === 'deliver').map(({ digest }) => digest))
  for (const { id, digest } of stored) {
    if (digest !== null && !signed.has(digest)) yield { property: 'P2', what: `${id} is stored with unsigned bytes` }
  }
  for (const { op, id, answer } of requests) {
    if (typeof answer !== 'number') continue
    if (op === 'forge' && answer !== 401 && answer !== 503) {
      yield { property: 'P2', what: `a forged ${id} was answered ${answer}` }
    }
    if (op === 'deliver' && answer >= 400 && answer < 500) {
      yield { property: 'P2', what: `an authentic ${id} was answered ${answer}` }
    }
  }
}

/** P3: ids are unique. */
function* storedOnce({ stored }: Evidence): Iterable<Finding> {
  const seen = new Set<string>()
  for (const { id } of stored) {
    if (seen.has(id)) yield { property: 'P3', what: `${id} is stored twice` }
    seen.add(id)
  }
}

/** P3: each event is handled at least once. */
function* handledAtLeastOnce({ stored, effects }: Evidence): Iterable<Finding> {
  const handled = new Set(effects.filter(({ step }) => step === 'end').map(({ id }) => id))
  for (const { id } of stored) {
    if (!handled.has(id)) yield { property: 'P3', what: `${id} was handled 0 times` }
  }
}

/** P3: attempts that don't fail are repeated only after a kill, with a higher number. */
function* repeatedOnlyAfterCrash({ effects, lives, requeued }: Evidence): Iterable<Finding> {
  const killed = new Set(lives.filter(({ exit }) => exit?.signal === 'SIGKILL').map(({ pid }) => pid))
  const last = new Map<string, Effect>()
  for (const effect of effects) {
    if (effect.step !== 'begin' || requeued?.has(effect.id)) continue
    const before = last.get(effect.id)
    last.set(effect.id, effect)
    if (before === undefined) continue
    if (before.pid === effect.pid || !killed.has(before.pid)) {
      yield { property: 'P3', what: `${effect.id} was handled again without a crash` }
    } else if (effect.attempt <= before.attempt) {
      yield { property: 'P3', what: `${effect.id}: attempt ${effect.attempt} came after attempt ${before.attempt}` }
    }
  }
}

/** P4: if A was acknowledged before the request of B began, all effects of A precede all effects of B. */
function* orderPerKey({ requests, effects, requeued }: Evidence): Iterable<Finding> {
  const keys = Map.groupBy(
    requests.filter(({ op, id, delivery }) => op === 'deliver' && delivery.key !== null && !requeued?.has(id)),
    ({ delivery }) => delivery.key,
  )
  const span = new Map<string, { first: number; last: number }>()
  for (const [at, { id }] of effects.entries()) span.set(id, { first: span.get(id)?.first ?? at, last: at })

  for (const [key, ofKey] of keys) {
    const acknowledged = firstAcknowledgements(ofKey)
    const events = [...Map.groupBy(ofKey, ({ id }) => id)].map(([id, sent]) => ({
      id,
      sentAt: Math.min(...sent.map(({ startedAt }) => startedAt)),
      acknowledgedAt: acknowledged.get(id)?.endedAt ?? Infinity,
      effects: span.get(id),
    }))
    for (const a of events) {
      for (const b of events) {
        if (a.acknowledgedAt >= b.sentAt || a.effects === undefined || b.effects === undefined) continue
        if (a.effects.last > b.effects.first) {
          yield { property: 'P4', what: `${b.id} was handled before ${a.id}, which came before it, of key ${key}` }
        }
      }
    }
  }
}

/** P6: every request is answered or closed in time. */
function* answeredInTime({ requests }: Evidence): Iterable<Finding> {
  for (const { id, answer, startedAt, endedAt } of requests) {
    const tookMs = Math.round(endedAt - startedAt)
    if (answer === 'timeout' || tookMs > answerLimitMs) {
      yield { property: 'P6', what: `a request for ${id} was not answered or closed for ${tookMs} ms` }
    }
  }
}

/** P7: only kills end a process, the next one is ready in time, and the accept sequence has no gap. */
function* recovered({ lives, stored }: Evidence): Iterable<Finding> {
  for (const { readyMs, pid, exit } of lives) {
    if (exit !== undefined && exit.signal !== 'SIGKILL' && !plannedExits.has(exit.code)) {
      yield { property: 'P7', what: `process ${pid} ended by itself: ${exit.code ?? exit.signal}` }
    }
    if (readyMs !== undefined && readyMs > readyLimitMs) {
      yield { property: 'P7', what: `process ${pid} was ready only after ${Math.round(readyMs)} ms` }
    }
  }
  for (const [index, { seq, id }] of stored.toSorted((a, b) => a.seq - b.seq).entries()) {
    if (seq !== index + 1) {
      yield { property: 'P7', what: `a gap in the accept sequence: ${id} has number ${seq}, expected ${index + 1}` }
      return
    }
  }
}

/** P8: the output contains no secret and no signature. */
function* noSecretShown({ requests, output, secrets }: Evidence): Iterable<Finding> {
  const forms = secrets.flatMap((secret) =>
    (['utf8', 'base64', 'hex'] as const).map((encoding) => Buffer.from(secret).toString(encoding)),
  )
  for (const form of forms) if (output.includes(form)) yield { property: 'P8', what: 'the output shows a secret' }
  const signatures = new Map(requests.map(({ delivery, id }) => [delivery.signature.toLowerCase(), id]))
  for (const [digits] of output.matchAll(/[0-9a-f]{64}/gi)) {
    const id = signatures.get(digits.toLowerCase())
    if (id !== undefined) yield { property: 'P8', what: `the output shows the signature of ${id}` }
  }
}

function firstAcknowledgements(requests: readonly RecordedRequest[]): Map<string, RecordedRequest> {
  const first = new Map<string, RecordedRequest>()
  for (const request of requests) {
    if (request.op !== 'deliver' || !isAcknowledged(request)) continue
    const known = first.get(request.id)
    if (known === undefined || request.endedAt < known.endedAt) first.set(request.id, request)
  }
  return first
}
