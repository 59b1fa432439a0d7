import { createRandomStream, type RandomStream } from '../random.ts'
import { planAnswerOf } from './answer-plan.ts'
import { asItShould, planAttemptOf, type AttemptFault } from './attempt-plan.ts'
import type { BodyFault } from './body-faults.ts'
import { hold, type HoldFault } from './hold.ts'
import type { OutFault } from './kinds.ts'
import { isAsked, isMeant, orderOf } from './matching.ts'
import { FaultRefused, type Faults, type FaultTarget } from './port.ts'
import type { FaultRule, InRule, OutRule } from './schema.ts'
import { createStrikes, type Strikes } from './strikes.ts'

const mostRules = 100
/** Deliveries whose change is remembered for their retries. */
const mostRemembered = 100_000

interface Active<R extends FaultRule> {
  readonly id: string
  readonly rule: R
  readonly strikes: Strikes
}

/**
 * Faults by rules (2.8). What befalls a delivery is drawn from the seed, the rule and the delivery, so that a run can be repeated
 * whatever the order of answers; a rule by script, and one for answers, goes by the order in which it is asked.
 *
 * Faults compose in the order in which `kinds.ts` lists them, those of one kind in the order of their rules. What changes an
 * event is decided at its first attempt and stays: each further attempt has the same bytes, whatever becomes of the rules. It
 * is forgotten with the process, and of the oldest beyond 100,000 deliveries. All else is decided anew for each attempt.
 */
export function createFaults({ seed }: { readonly seed: string }): Faults {
  const active = new Map<string, Active<FaultRule>>()
  let outRules: readonly Active<OutRule>[] = []
  let inRules: readonly Active<InRule>[] = []
  const bodyFaultsOf = new Map<string, readonly BodyFault[]>()
  let lastId = 0
  let asked = 0

  const streamOf = (...names: readonly (string | number)[]) => createRandomStream(seed, ['fault', ...names].join('|'))
  const toStored = ({ id, rule, strikes }: Active<FaultRule>) => ({ id, rule, struck: strikes.count() })

  function arrange(): void {
    const all = [...active.values()]
    outRules = all.filter(isOut).toSorted((a, b) => orderOf(a.rule) - orderOf(b.rule))
    inRules = all.filter(isIn).toSorted((a, b) => orderOf(a.rule) - orderOf(b.rule))
  }

  /** Those of a kind that strike, each with its chance. */
  function strike<F extends OutFault>(
    isOfKind: (fault: OutFault) => fault is F,
    target: FaultTarget,
    occasion: string | number,
  ): { readonly fault: F; readonly draw: () => RandomStream }[] {
    return outRules.flatMap(({ id, rule, strikes }) => {
      const { fault } = rule
      if (!isOfKind(fault) || !isMeant(rule, target)) return []
      const draw = (what: string) => streamOf(id, target.url, target.eventId, occasion, what)
      return strikes.next(() => draw('strikes')) ? [{ fault, draw: () => draw('how') }] : []
    })
  }

  function decideBody(target: FaultTarget, attempt: number): readonly BodyFault[] {
    const { deliveryId: delivery } = target
    if (attempt > 1) return bodyFaultsOf.get(delivery) ?? []
    bodyFaultsOf.delete(delivery)
    const faults = strike(isBodyFault, target, 'body').map(({ fault }) => fault)
    if (faults.length > 0) bodyFaultsOf.set(delivery, faults)
    if (bodyFaultsOf.size > mostRemembered) bodyFaultsOf.delete(bodyFaultsOf.keys().next().value ?? '')
    return faults
  }

  return {
    rules: () => [...active.values()].map(toStored),
    add(rule) {
      if (active.size >= mostRules) {
        throw new FaultRefused(`there are ${mostRules} rules of faults, no more can be; delete one`)
      }
      const added = { id: `flt_${++lastId}`, rule, strikes: createStrikes(rule) }
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
      asked = 0
      arrange()
    },
    holdMs(target, now) {
      if (outRules.length === 0) return 0
      const struck = strike(isHoldFault, target, 'hold')
      return struck.reduce((at, { fault, draw }) => hold(fault, at, draw()), now) - now
    },
    planAttempt(target, attempt) {
      if (outRules.length === 0 && bodyFaultsOf.size === 0) return asItShould
      return planAttemptOf(decideBody(target, attempt), strike(isAttemptFault, target, attempt))
    },
    planAnswer(request) {
      if (inRules.length === 0) return null
      const number = ++asked
      const struck = inRules.flatMap(({ id, rule, strikes }) => {
        if (!isAsked(rule, request)) return []
        const draw = (what: string) => streamOf(id, number, what)
        return strikes.next(() => draw('strikes')) ? [{ fault: rule.fault, draw: () => draw('how') }] : []
      })
      return struck.length === 0 ? null : planAnswerOf(struck)
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

/** What is decided once for a delivery is named here; all else is decided for each attempt. */
const decided = {
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

const whenOf = ({ kind }: OutFault): When => (kind in decided ? decided[kind as keyof typeof decided] : 'attempt')
const isHoldFault = (fault: OutFault): fault is HoldFault => whenOf(fault) === 'hold'
const isBodyFault = (fault: OutFault): fault is BodyFault => whenOf(fault) === 'body'
const isAttemptFault = (fault: OutFault): fault is AttemptFault => whenOf(fault) === 'attempt'
