import type { Clock } from '../clock.ts'
import { InboxError } from '../errors.ts'
import type { Check, Scenario, Verdict } from './port.ts'
import { toReport, type Report } from './report.ts'
import { scenarios } from './scenarios.ts'
import { createStage, reasons } from './stage.ts'
import { createTell } from './tell.ts'

export interface ConformanceOptions {
  /** Where events are delivered to: http or https. Nothing goes anywhere else, but for `effects`. */
  readonly url: URL
  readonly secret: string
  /** A second secret that the receiver takes at the same time. */
  readonly nextSecret?: string
  readonly signatureHeader?: string
  /** What tells what the receiver did: a URL that answers GET, or a shell command. */
  readonly effects?: string
  /** Shell command that restarts the receiver. */
  readonly restart?: string
  /** How long an answer may take; default: the 5 s that the service waits (R115). */
  readonly timeoutMs?: number
  /** Longest time until the receiver has done its work and is quiet; default 30 s. */
  readonly settleMs?: number
  /** How many events scenarios send that send many; default 1,000. */
  readonly many?: number
  /** Whether any certificate is good enough. */
  readonly isInsecure?: boolean
  /** Names of scenarios; default: all. */
  readonly only?: readonly string[]
  readonly skip?: readonly string[]
  readonly clock: Clock
  /** Ends the run; what is known by then is in the report. */
  readonly signal?: AbortSignal
  /** Called with each verdict as it falls. */
  readonly onVerdict?: (verdict: Verdict) => void
  /** Called with the share of the checks that is through, 0 to 1, and the scenario that begins. */
  readonly onScenario?: (done: number, name: string) => void
}

/**
 * Puts a receiver through all scenarios, by HTTP alone, and gives a verdict for each rule (R71–R75, R79, R88–R92, R103, R127). All ids
 * are new, so it can be done again.
 *
 * @throws InboxError `usage` for a scenario that there is not, if none is left, or for effects that cannot be read
 */
export async function runConformance(options: ConformanceOptions): Promise<Report> {
  const { url, clock, signal = new AbortController().signal, onVerdict, onScenario } = options
  const chosen = choose(options)
  const checks = chosen.reduce((sum, scenario) => sum + Object.keys(scenario.checks).length, 0)
  const whyNot = ({ needs = [] }: Check) =>
    needs.flatMap((need) => (options[need] === undefined ? [reasons[need]] : []))[0]
  const startedAt = clock.now()
  const verdicts: Verdict[] = []
  using stage = createStage(options, signal)
  const { promise: aborted, resolve: abort } = Promise.withResolvers<'interrupted'>()
  signal.addEventListener('abort', () => abort('interrupted'), { once: true })
  if (signal.aborted) abort('interrupted')
  const orInterrupted = async (last: Promise<string | null>) => {
    const reason = await Promise.race([last, aborted])
    return signal.aborted ? null : reason
  }

  await Promise.race([stage.checkEffects(), aborted])
  const absence = signal.aborted ? null : await orInterrupted(stage.untilReached())
  let unreachable = absence === null ? null : `the receiver could not be reached: ${absence}. Start it, and check --url`
  for (const scenario of absence === null ? chosen : []) {
    onScenario?.(verdicts.length / checks, scenario.name)
    const onOne = (verdict: Verdict) => {
      verdicts.push(verdict)
      onVerdict?.(verdict)
    }
    const tell = createTell({ scenario, clock, onVerdict: onOne, whyNot })
    const isWanted = Object.values(scenario.checks).some((check) => whyNot(check) === undefined)
    const before = verdicts.length
    if (isWanted && unreachable === null && !signal.aborted) {
      await Promise.race([scenario.run(stage.context, tell.one), aborted])
      const hasFailed = verdicts.slice(before).some(({ verdict }) => verdict === 'failed')
      const last = hasFailed ? await orInterrupted(stage.untilThere()) : null
      if (last !== null) unreachable = `the receiver does not answer any more: ${last}`
    }
    tell.rest(signal.aborted ? interrupted.reason : 'the receiver does not answer any more')
  }
  const cut = unreachable === null ? null : { by: 'unreachable' as const, reason: unreachable }
  return toReport({ url, verdicts, ms: clock.now() - startedAt, cut: signal.aborted ? interrupted : cut })
}

const interrupted = { by: 'interrupted', reason: 'it was interrupted' } as const

function choose({ only, skip = [] }: ConformanceOptions): readonly Scenario[] {
  const names = scenarios.map(({ name }) => name)
  const strange = [...(only ?? []), ...skip].find((name) => !names.includes(name))
  if (strange !== undefined) {
    throw new InboxError(
      'usage',
      `there is no scenario ${JSON.stringify(strange)}; expected some of: ${names.join(', ')}`,
    )
  }
  const chosen = scenarios.filter(({ name }) => (only ?? names).includes(name) && !skip.includes(name))
  if (chosen.length === 0) throw new InboxError('usage', 'no scenario is left: all that were chosen are skipped')
  return chosen
}
