import { InboxError } from '../../base/errors.ts'
import { createContext, type ContextOptions, type Delivery } from './context.ts'
import { isAccepted, isFromReceiver, judge, notChecked, rejected, summarize } from './judge.ts'
import type { Answer, Check, Need, Outcome } from './judge.ts'
import { needsOf, scenarios, type Case } from './scenarios.ts'

export interface ConformanceOptions extends ContextOptions {
  /** Names of scenarios; default: all. */
  readonly only?: readonly string[] | undefined
  /** Ends the run; the report holds the verdicts so far. */
  readonly signal?: AbortSignal
  readonly onVerdict?: (verdict: Verdict) => void
}

/** The outcome of a rule in a scenario. */
export interface Verdict extends Outcome {
  readonly scenario: string
  readonly rule: string
}

export type Report = ReturnType<typeof toReport>

/** An answer that takes this many times the limit never comes. */
const patience = 4
const interrupted = 'interrupted'

const missing: Readonly<Record<Need, string>> = {
  effects: '--effects is needed to see what the receiver did',
  restart: '--restart is needed to restart the receiver',
  nextSecret: '--next-secret is needed for a second secret',
}

/**
 * Tests a receiver by HTTP alone, with a verdict for each rule of the chosen scenarios. All event ids are new, so a run can be
 * repeated.
 *
 * @throws InboxError `usage` for an unknown scenario, or if the effects can't be read
 */
export async function runConformance(options: ConformanceOptions): Promise<Report> {
  const { signal = new AbortController().signal, onVerdict } = options
  const chosen = choose(options)
  const missingFor = (scenarioCase: Case, check: Check) =>
    needsOf(scenarioCase, check).flatMap((need) => (options[need] === undefined ? [missing[need]] : []))[0]
  const startedAt = Date.now()
  const context = createContext(options, signal)
  const { timeoutMs, effects } = context
  const verdicts: Verdict[] = []
  const report = (scenario: string, rule: string, outcome: Outcome) => {
    const verdict = { scenario, rule, ...outcome }
    verdicts.push(verdict)
    onVerdict?.(verdict)
  }

  /** `rejectedIds`: events of the scenario that must not be done. */
  async function judgeCheck(
    scenarioCase: Case,
    check: Check,
    part: readonly Delivery[],
    rejectedIds: readonly string[],
  ) {
    const reason = missingFor(scenarioCase, check) ?? (part.length === 0 ? 'an earlier step failed' : undefined)
    if (reason !== undefined) return notChecked(reason)
    const { sent } = scenarioCase
    const { expected, fix } = check
    if (typeof expected === 'object')
      return judge(expected, { sent, answers: part.map(({ answer }) => answer), timeoutMs, fix })
    const ids = idsOf(part.filter(({ answer }) => isAccepted(answer)))
    const outcome = await effects?.judge({ sent, rule: expected, ids, never: rejectedIds, fix: String(fix) })
    return outcome ?? notChecked(missing.effects)
  }

  async function runCase(scenario: string, scenarioCase: Case, rejectedIds: string[]): Promise<readonly Delivery[]> {
    const isWanted = scenarioCase.checks.some((check) => missingFor(scenarioCase, check) === undefined)
    const deliveries = isWanted ? await scenarioCase.deliver(context) : []
    for (const check of scenarioCase.checks) {
      const part = deliveries.filter((delivery) => delivery.part === check.part)
      report(scenario, check.rule, await judgeCheck(scenarioCase, check, part, rejectedIds))
      if (check.expected === rejected) rejectedIds.push(...idsOf(part))
    }
    return deliveries
  }

  /** Returns why the run ended early; null if it is complete. */
  async function runAll(): Promise<string | null> {
    await effects?.check()
    // A late answer or a lasting 503 is a failure of the receiver, not its absence.
    const first = await context.poll((answer) => isFromReceiver(answer) || answer.isLate, timeoutMs, timeoutMs)
    if (hasNoAnswer(first)) return `the receiver could not be reached: ${summarize([first])}. Start it, and check --url`
    for (const [scenario, cases] of chosen) {
      const before = verdicts.length
      const rejectedIds: string[] = []
      for (const scenarioCase of cases) {
        const deliveries = await runCase(scenario, scenarioCase, rejectedIds)
        const hasFailed = verdicts.slice(before).some(({ verdict }) => verdict === 'failed')
        if (!hasFailed || !(scenarioCase === cases.at(-1) || deliveries.some(({ answer }) => hasNoAnswer(answer))))
          continue
        const last = await context.poll(isFromReceiver, timeoutMs, patience * timeoutMs)
        if (!isFromReceiver(last)) return `the receiver no longer answers: ${summarize([last])}`
      }
    }
    return null
  }

  const endReason = await runAll().catch((error: unknown) => {
    if (signal.aborted) return interrupted
    throw error
  })
  return toReport(options.url, verdicts, Date.now() - startedAt, endReason)
}

/** True if no connection could be made, or it was closed without an answer. */
function hasNoAnswer({ status, isLate }: Answer): boolean {
  return status === null && !isLate
}

function idsOf(deliveries: readonly Delivery[]): readonly string[] {
  return [...new Set(deliveries.flatMap(({ event }) => (event === undefined ? [] : [event.id])))]
}

/** Unchecked rules are no failure, unless no rule was checked. `endReason`: why the run ended early; null if it is complete. */
export function toReport(url: URL, verdicts: readonly Verdict[], ms: number, endReason: string | null) {
  const count = (verdict: Verdict['verdict']) => verdicts.filter((entry) => entry.verdict === verdict).length
  const [passes, failures] = [count('passed'), count('failed')]
  const isEmpty = endReason === null && failures + passes === 0
  const early = endReason === interrupted ? 'interrupted' : 'unreachable'
  return {
    /** `failed`: a rule failed, or nothing was checked. `unreachable`, `interrupted`: no rule failed, and the run ended early. */
    outcome: failures > 0 || isEmpty ? 'failed' : endReason === null ? 'passed' : early,
    /** Why the run is incomplete; null if it is complete. */
    reason: isEmpty
      ? 'nothing was checked; add the options that the checks need, or choose other scenarios'
      : endReason,
    url: withoutCredentials(url),
    passed: passes,
    failed: failures,
    notChecked: count('not checked'),
    ms,
    verdicts,
  } as const
}

/** A URL for people, without anything that may be a credential. */
export function withoutCredentials({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

function choose({ only }: ConformanceOptions) {
  const names = Object.keys(scenarios)
  const unknown = only?.find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new InboxError('usage', `unknown scenario ${JSON.stringify(unknown)}; expected some of: ${names.join(', ')}`)
  return Object.entries(scenarios).filter(([name]) => only?.includes(name) ?? true)
}
