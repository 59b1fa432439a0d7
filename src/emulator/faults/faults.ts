import { type AttemptFault, type HoldFault, noFaults, hold, planAnswerOf, planAttemptOf } from './plans.ts'
import type { BodyFault } from './body-faults.ts'
import { type FaultRule, type InRule, type OutFault, type OutRule, inFault, outFault } from './kinds.ts'
import { FaultRefused, type FaultTarget, type Faults } from './port.ts'
import { type RandomStream, createRandomStream } from '../random.ts'

const maxRules = 100
/** Maximum deliveries whose body faults are remembered for retries. */
const maxRememberedBodies = 100_000

interface Active<R extends FaultRule> {
  readonly id: string
  readonly rule: R
  readonly counter: RuleCounter
}

/**
 * Injects faults by rules (2.8). Random choices for deliveries depend only on seed, rule and delivery, so a run can be
 * repeated in any order of responses. Scripted rules and rules for REST responses depend on the order of calls.
 *
 * Faults compose in the order of `kinds.ts`; faults of one kind in the order of their rules. Body faults are decided at
 * the first attempt: later attempts have the same bytes, even if rules change. They are forgotten at a restart, and
 * beyond 100,000 deliveries oldest first. All other faults are decided for each attempt.
 */
export function createFaults({ seed }: { readonly seed: string }): Faults {
  const active = new Map<string, Active<FaultRule>>()
  let outRules: readonly Active<OutRule>[] = []
  let inRules: readonly Active<InRule>[] = []
  const bodyFaultsOf = new Map<string, readonly BodyFault[]>()
  let lastId = 0
  let requestCount = 0

  const streamOf = (...names: readonly (string | number)[]) => createRandomStream(seed, ['fault', ...names].join('|'))
  const toStored = ({ id, rule, counter }: Active<FaultRule>) => ({ id, rule, struck: counter.count() })

  function arrange(): void {
    const all = [...active.values()]
    outRules = all.filter(isOut).toSorted((a, b) => orderOf(a.rule) - orderOf(b.rule))
    inRules = all.filter(isIn).toSorted((a, b) => orderOf(a.rule) - orderOf(b.rule))
  }

  /** Faults of a kind that apply now, each with its random stream. */
  function matchingFaults<F extends OutFault>(
    isOfKind: (fault: OutFault) => fault is F,
    target: FaultTarget,
    occasion: string | number,
  ): { readonly fault: F; readonly draw: () => RandomStream }[] {
    return outRules.flatMap(({ id, rule, counter }) => {
      const { fault } = rule
      if (!isOfKind(fault) || !matchesDelivery(rule, target)) return []
      const draw = (what: string) => streamOf(id, target.url, target.eventId, occasion, what)
      return counter.next(() => draw('strikes')) ? [{ fault, draw: () => draw('how') }] : []
    })
  }

  function decideBody(target: FaultTarget, attempt: number): readonly BodyFault[] {
    const { deliveryId: delivery } = target
    if (attempt > 1) return bodyFaultsOf.get(delivery) ?? []
    bodyFaultsOf.delete(delivery)
    const faults = matchingFaults(isBodyFault, target, 'body').map(({ fault }) => fault)
    if (faults.length > 0) bodyFaultsOf.set(delivery, faults)
    if (bodyFaultsOf.size > maxRememberedBodies) bodyFaultsOf.delete(bodyFaultsOf.keys().next().value ?? '')
    return faults
  }

  return {
    rules: () => [...active.values()].map(toStored),
    add(rule) {
      if (active.size >= maxRules) {
        throw new FaultRefused(`expected at most ${maxRules} fault rules; delete one`)
      }
      const added = { id: `flt_${++lastId}`, rule, counter: createRuleCounter(rule) }
      active.set(added.id, added)
      arrange()
      return toStored(added)
    },
    remove(id) {
      const isGone = active.delete(id)
      arrange()
      return isGone
    },
    clear() {
      active.clear()
      // The same rules, added again, make the same random choices.
      lastId = 0
      requestCount = 0
      arrange()
    },
    holdMs(target, now) {
      if (outRules.length === 0) return 0
      const applied = matchingFaults(isHoldFault, target, 'hold')
      return applied.reduce((at, { fault, draw }) => hold(fault, at, draw()), now) - now
    },
    planAttempt(target, attempt) {
      if (outRules.length === 0 && bodyFaultsOf.size === 0) return noFaults
      return planAttemptOf(decideBody(target, attempt), matchingFaults(isAttemptFault, target, attempt))
    },
    planAnswer(request) {
      if (inRules.length === 0) return null
      const number = ++requestCount
      const applied = inRules.flatMap(({ id, rule, counter }) => {
        if (!matchesRequest(rule, request)) return []
        const draw = (what: string) => streamOf(id, number, what)
        return counter.next(() => draw('strikes')) ? [{ fault: rule.fault, draw: () => draw('how') }] : []
      })
      return applied.length === 0 ? null : planAnswerOf(applied)
    },
  }
}

function isOut(one: Active<FaultRule>): one is Active<OutRule> {
  return one.rule.direction === 'out'
}

function isIn(one: Active<FaultRule>): one is Active<InRule> {
  return one.rule.direction === 'in'
}

type When = 'hold' | 'body' | 'attempt'

/** Faults decided once per delivery. All others are decided for each attempt. */
const decisionPoints = {
  delay: 'hold',
  reorder: 'hold',
  burst: 'hold',
  skew: 'body',
  'unknown-type': 'body',
  'case-flip': 'body',
  'extra-fields': 'body',
  reserialise: 'body',
  huge: 'body',
} as const satisfies Record<(HoldFault | BodyFault)['kind'], When>

const whenOf = ({ kind }: OutFault): When =>
  kind in decisionPoints ? decisionPoints[kind as keyof typeof decisionPoints] : 'attempt'
const isHoldFault = (fault: OutFault): fault is HoldFault => whenOf(fault) === 'hold'
const isBodyFault = (fault: OutFault): fault is BodyFault => whenOf(fault) === 'body'
const isAttemptFault = (fault: OutFault): fault is AttemptFault => whenOf(fault) === 'attempt'

/** Decides when a rule applies, and counts it. */
interface RuleCounter {
  /** True if the rule applies to the next match. Counts it. `draw` returns the random stream. */
  next(draw: () => RandomStream): boolean
  count(): number
}

/** Applies by rate, by script, or always; at most `times` times. */
function createRuleCounter(rule: Pick<FaultRule, 'rate' | 'script' | 'scriptRepeats' | 'times'>): RuleCounter {
  const { rate = 1, script, scriptRepeats = false, times = Infinity } = rule
  let applied = 0
  let step = 0

  const isNextStep = (steps: string) => {
    const at = scriptRepeats ? step % steps.length : step
    step++
    return steps[at] === 'x'
  }
  const isDrawn = (draw: () => RandomStream) => rate >= 1 || (rate > 0 && draw().uniform() < rate)

  return {
    next(draw) {
      if (applied >= times) return false
      const isApplied = script === undefined ? isDrawn(draw) : isNextStep(script)
      if (isApplied) applied++
      return isApplied
    },
    count: () => applied,
  }
}

/** True if a rule selects the delivery. */
function matchesDelivery({ endpoint, types }: OutRule, { endpointId, url, eventType }: FaultTarget): boolean {
  const isEndpoint = endpoint === undefined || endpoint === endpointId || endpoint === url
  return isEndpoint && (types === undefined || types.some((wanted) => matches(eventType, wanted)))
}

/** True if a rule selects the request. `path` has no query. */
function matchesRequest(
  { path: wanted, methods }: InRule,
  { method, path }: { readonly method: string; readonly path: string },
): boolean {
  const isMethod = methods === undefined || methods.some((one) => one === method)
  return isMethod && (wanted === undefined || matches(path, wanted))
}

function matches(text: string, wanted: string): boolean {
  return wanted.endsWith('*') ? text.startsWith(wanted.slice(0, -1)) : text === wanted
}

const order: Readonly<Record<FaultRule['direction'], readonly string[]>> = {
  out: outFault.options.map((option) => option.shape.kind.value),
  in: inFault.options.map((option) => option.shape.kind.value),
}

/** Position of a rule in the composition order, which is the order of `kinds.ts`. */
function orderOf({ direction, fault }: FaultRule): number {
  return order[direction].indexOf(fault.kind)
}
