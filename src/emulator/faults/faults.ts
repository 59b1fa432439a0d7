import { sign } from '../../signature/sign.ts'
import { LimitReached } from '../accounts/accounts.ts'
import { type RandomStream, createRandomStream } from '../random.ts'
import { serialize } from '../serialize.ts'
import { type Effect, type Json, effectOf } from './kinds.ts'
import type { FaultRule } from './rules.ts'

/** A delivery about to be sent, for rules to match. */
export interface FaultTarget {
  /** A webhook or an alert. */
  readonly endpointId: string
  readonly url: string
  readonly eventId: string
  readonly eventType: string
}

export interface AttemptTarget extends FaultTarget {
  readonly deliveryId: string
}

export interface StoredRule {
  readonly id: string
  readonly rule: FaultRule
  /** Number of times the rule was applied. */
  readonly struck: number
}

const maxRules = 100
/** Maximum deliveries whose body faults are remembered for retries. */
const maxRememberedBodies = 100_000

/** A fault that applies now, with its random stream. */
interface Applied {
  readonly kind: string
  readonly effect: Effect
  /** Position in the order of composition. */
  readonly order: number
  readonly draw: () => RandomStream
}

/** A rule in use. */
interface ActiveRule extends Pick<Applied, 'effect' | 'order'> {
  readonly id: string
  readonly rule: FaultRule
  struck: number
  /** Number of matches so far, for a script. */
  step: number
}

export type Faults = ReturnType<typeof createFaults>
export type AttemptPlan = ReturnType<Faults['planAttempt']>
export type AnswerPlan = NonNullable<ReturnType<Faults['planAnswer']>>

/**
 * Injects faults by rules, for deliveries and for REST responses (2.8). Random choices for deliveries depend only on
 * seed, rule and delivery, so a run can be repeated in any order of responses. Scripted rules and rules for REST
 * responses depend on the order of calls.
 *
 * Faults compose in the order of `kinds.ts`; faults of one kind in the order of their rules. Changes of the event are
 * decided at the first attempt: later attempts have the same bytes, even if rules change. They are forgotten at a
 * restart, and beyond 100,000 deliveries oldest first. All other faults are decided for each attempt.
 */
export function createFaults({ seed }: { readonly seed: string }) {
  let rules: readonly ActiveRule[] = []
  const bodyFaultsOf = new Map<string, readonly Applied[]>()
  let lastId = 0
  let requestCount = 0

  /** The faults of matching rules that apply now. Random choices depend on the seed, the rule and `names`. */
  function apply(isMatch: (rule: ActiveRule) => boolean, ...names: (string | number)[]): readonly Applied[] {
    return rules
      .filter(isMatch)
      .flatMap((active) => {
        const { id, rule, effect, order } = active
        const draw = (purpose: string) => createRandomStream(seed, ['fault', id, ...names, purpose].join('|'))
        if (!countMatch(active, () => draw('strikes'))) return []
        return [{ kind: rule.fault.kind, effect, order, draw: () => draw('how') }]
      })
      .toSorted((a, b) => a.order - b.order)
  }

  function applyOut(target: FaultTarget, occasion: string | number, isIncluded: (effect: Effect) => boolean) {
    const isMatch = ({ rule, effect }: ActiveRule) => isIncluded(effect) && matchesDelivery(rule, target)
    return apply(isMatch, target.url, target.eventId, occasion)
  }

  function bodyFaults(target: AttemptTarget, attempt: number): readonly Applied[] {
    const { deliveryId } = target
    if (attempt > 1) return bodyFaultsOf.get(deliveryId) ?? []
    bodyFaultsOf.delete(deliveryId)
    const faults = applyOut(target, 'body', isOnBody)
    if (faults.length > 0) bodyFaultsOf.set(deliveryId, faults)
    if (bodyFaultsOf.size > maxRememberedBodies) bodyFaultsOf.delete(bodyFaultsOf.keys().next().value ?? '')
    return faults
  }

  return {
    rules: (): readonly StoredRule[] => rules.map(({ id, rule, struck }) => ({ id, rule, struck })),
    /** Throws `LimitReached` beyond 100 rules. */
    add(rule: FaultRule): StoredRule {
      if (rules.length >= maxRules)
        throw new LimitReached('config_invalid', `expected at most ${maxRules} fault rules; delete one`)
      const id = `flt_${++lastId}`
      rules = [...rules, { id, rule, struck: 0, step: 0, ...effectOf(rule.direction, rule.fault) }]
      return { id, rule, struck: 0 }
    },
    /** False if there is none of this id. */
    remove(id: string): boolean {
      const before = rules.length
      rules = rules.filter((active) => active.id !== id)
      return rules.length < before
    },
    /** Removes all rules. The same rules, added again, make the same random choices. */
    clear(): void {
      rules = []
      lastId = 0
      requestCount = 0
    },
    /** Delay of a new delivery before its first attempt, in world time; 0 without a fault. */
    holdMs(target: FaultTarget, now: number): number {
      const applied = applyOut(target, 'hold', ({ hold }) => hold !== undefined)
      return applied.reduce((at, { effect, draw }) => effect.hold?.(at, draw()) ?? at, now) - now
    },
    /** The faults of attempt 1 to 6 of a delivery. Call it once per attempt; its extra copies share the plan. */
    planAttempt(target: AttemptTarget, attempt: number) {
      const onBody = bodyFaults(target, attempt)
      const applied = applyOut(target, attempt, (effect) => effect.hold === undefined && !isOnBody(effect))
      const onWire = applied.findLast(({ effect }) => effect.wire !== undefined)
      const injected = applied.filter((one) => one.effect.wire === undefined || one === onWire)
      const total = (name: 'copiesAtOnce' | 'copiesAfterwards') =>
        applied.reduce((sum, { effect }) => sum + (effect[name] ?? 0), 0)
      return {
        /** Names of the faults, for the log. */
        faults: namesOf([...onBody, ...injected]),
        /** Returns the body to sign and send. All attempts of a delivery get the same body. */
        alter: (body: Buffer) => alterBody(body, onBody),
        /** Values of the signature header, one header each; empty = no header. */
        sign: (body: Buffer, secret: string) =>
          applied.reduce<readonly string[]>(
            (values, { effect }) => effect.sign?.(values, body) ?? values,
            [sign(body, secret)],
          ),
        /** Returns the bytes to send instead of the signed ones. */
        tamper: (body: Buffer) =>
          applied.reduce((bytes, { effect, draw }) => effect.bytes?.(bytes, draw) ?? bytes, body),
        wire: onWire?.effect.wire ?? ({ mode: 'whole' } as const),
        copiesAtOnce: total('copiesAtOnce'),
        copiesAfterwards: total('copiesAfterwards'),
        dropsAck: applied.some(({ effect }) => effect.dropsAck),
      }
    },
    /** The faults of one REST response: delays add up, changes accumulate, the last replacement wins. Null = no faults. */
    planAnswer({ method, path }: { readonly method: string; readonly path: string }) {
      if (!rules.some(({ rule }) => rule.direction === 'in')) return null
      const applied = apply(({ rule }) => matchesRequest(rule, method, path), ++requestCount)
      if (applied.length === 0) return null
      const replacing = applied.findLast(({ effect }) => effect.instead !== undefined)
      return {
        faults: namesOf(applied.filter((one) => one.effect.instead === undefined || one === replacing)),
        delayMs: applied.reduce((sum, { effect, draw }) => sum + (effect.delayMs?.(draw()) ?? 0), 0),
        /** Replacement of the response; null = none. */
        instead: replacing?.effect.instead ?? null,
        /** Changes the envelope of a successful response. */
        alter: (envelope: Json, cursor: string | null) =>
          applied.reduce((answer, { effect }) => effect.alter?.(answer, cursor) ?? answer, envelope),
      }
    },
  }
}

const isOnBody = ({ event, serialize }: Effect) => event !== undefined || serialize !== undefined

function namesOf(applied: readonly Applied[]): readonly string[] {
  return [...new Set(applied.map(({ kind }) => kind))]
}

/** Counts a match. True if the fault applies to it: by rate, by script, or always; at most `times` times. */
function countMatch(active: ActiveRule, draw: () => RandomStream): boolean {
  const { rate = 1, script, scriptRepeats = false, times = Infinity } = active.rule
  if (active.struck >= times) return false
  const isDrawn =
    script === undefined
      ? rate >= 1 || (rate > 0 && draw().uniform() < rate)
      : script[scriptRepeats ? active.step++ % script.length : active.step++] === 'x'
  if (isDrawn) active.struck++
  return isDrawn
}

function matchesDelivery(rule: FaultRule, { endpointId, url, eventType }: FaultTarget): boolean {
  if (rule.direction !== 'out') return false
  const { endpoint, types } = rule
  const isEndpoint = endpoint === undefined || endpoint === endpointId || endpoint === url
  return isEndpoint && (types === undefined || types.some((wanted) => matches(eventType, wanted)))
}

function matchesRequest(rule: FaultRule, method: string, path: string): boolean {
  if (rule.direction !== 'in') return false
  const isMethod = rule.methods?.some((known) => known === method) ?? true
  return isMethod && (rule.path === undefined || matches(path, rule.path))
}

/** `wanted` is the text, or a prefix with a trailing `*`. */
export function matches(text: string, wanted: string): boolean {
  return wanted.endsWith('*') ? text.startsWith(wanted.slice(0, -1)) : text === wanted
}

function alterBody(body: Buffer, applied: readonly Applied[]): Buffer {
  if (applied.length === 0) return body
  const effects = applied.map(({ effect }) => effect)
  const event = effects.reduce(
    (changed, effect) => effect.event?.(changed) ?? changed,
    JSON.parse(body.toString()) as Json,
  )
  const profile = effects.findLast((effect) => effect.serialize?.profile)?.serialize?.profile ?? 'spaced'
  const minBytes = effects.findLast((effect) => effect.serialize?.minBytes)?.serialize?.minBytes ?? 0
  const plain = serialize(event, profile)
  if (plain.length >= minBytes) return plain
  const padded = (padding: string) => serialize({ ...event, data: { ...(event['data'] as Json), padding } }, profile)
  return padded('x'.repeat(Math.max(0, minBytes - padded('').length)))
}
