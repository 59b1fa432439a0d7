import { type AttemptFault, type HoldFault, noFaults, hold, planAnswerOf, planAttemptOf } from './plans.ts'
import type { BodyFault } from './body-faults.ts'
import { type FaultRule, type InRule, type OutFault, type OutRule, inFault, outFault } from './kinds.ts'
import { FaultRefused, type FaultTarget, type Faults } from './port.ts'
import { type RandomStream, createRandomStream } from '../random.ts'

const maxRules = 100
/** Deliveries whose change is remembered for their retries. */
const maxRememberedBodies = 100_000

interface Active<R extends FaultRule> {
  readonly id: string
  readonly rule: R
  readonly counter: RuleCounter
}

/**
 * Faults by rules (2.8). What befalls a delivery is drawn from the seed, the rule and the delivery, so that a run can be repeated
 * whatever the order of answers; a rule by script, and one for answers, goes by the order in which it is asked.
 *
 * Faults compose in the order in which `kinds.ts` lists them, those of one kind in the order of their rules. What changes an
 * event is decisionPoint at its first attempt and stays: each further attempt has the same bytes, whatever becomes of the rules. It
 * is forgotten with the process, and of the oldest beyond 100,000 deliveries. All else is decisionPoint anew for each attempt.
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

  /** Those of a kind that strike, each with its chance. */
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
        throw new FaultRefused(`there are ${maxRules} rules of faults, no more can be; delete one`)
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
      // The same rules again draw the same again.
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

/** What is decisionPoint once for a delivery is named here; all else is decisionPoint for each attempt. */
const decisionPoint = {
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
  kind in decisionPoint ? decisionPoint[kind as keyof typeof decisionPoint] : 'attempt'
const isHoldFault = (fault: OutFault): fault is HoldFault => whenOf(fault) === 'hold'
const isBodyFault = (fault: OutFault): fault is BodyFault => whenOf(fault) === 'body'
const isAttemptFault = (fault: OutFault): fault is AttemptFault => whenOf(fault) === 'attempt'

/** How often one rule strikes, and has struck. */
interface RuleCounter {
  /** Whether the next that matches is struck; it counts. `draw` gives what chance is taken from. */
  next(draw: () => RandomStream): boolean
  count(): number
}

/** By rate, by script, or always; `times` at most. */
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

/** Whether a rule is about a delivery. */
function matchesDelivery({ endpoint, types }: OutRule, { endpointId, url, eventType }: FaultTarget): boolean {
  const isEndpoint = endpoint === undefined || endpoint === endpointId || endpoint === url
  return isEndpoint && (types === undefined || types.some((wanted) => matches(eventType, wanted)))
}

/** Whether a rule is about a request. `path` is without its query. */
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

/** The place of a rule in the order in which faults compose: that in which `kinds.ts` lists them. */
function orderOf({ direction, fault }: FaultRule): number {
  return order[direction].indexOf(fault.kind)
}
