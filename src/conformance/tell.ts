import type { Clock } from '../clock.ts'
import type { Check, Outcome, Scenario, Verdict } from './port.ts'

interface TellOptions {
  readonly scenario: Scenario
  readonly clock: Clock
  readonly onVerdict: (verdict: Verdict) => void
  /** Why a check cannot be made at all; undefined: it can. */
  readonly whyNot: (check: Check) => string | undefined
}

export interface Tell {
  /** For the scenario. Counts for the first time only, for a check that can be made, and until `rest` was called. */
  readonly one: (check: string, outcome: Outcome) => void
  /** Ends the scenario: what it did not tell was not checked, for this reason. */
  readonly rest: (reason: string) => void
}

/** Makes verdicts of what a scenario tells; exactly one for each of its checks. */
export function createTell({ scenario: { name, checks }, clock, onVerdict, whyNot }: TellOptions): Tell {
  const left = new Map(Object.entries(checks))
  let since = clock.now()

  function say(key: string, { verdict, detail }: Outcome): void {
    const check = left.get(key)
    if (check === undefined) return
    left.delete(key)
    const now = clock.now()
    onVerdict({ rule: check.rule, scenario: name, title: check.title, verdict, detail, ms: now - since })
    since = now
  }

  return {
    one(key, outcome) {
      const check = left.get(key)
      if (check !== undefined && whyNot(check) === undefined) say(key, outcome)
    },
    rest(reason) {
      for (const [key, check] of left) say(key, { verdict: 'not checked', detail: whyNot(check) ?? reason })
    },
  }
}
