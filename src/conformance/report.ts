import type { Verdict } from './port.ts'

export interface Report {
  /**
   * `failed`: a rule failed, or nothing at all was checked; `unreachable`: it could not be reached, or not any more, and no rule
   * failed; `interrupted`: the same of a run that was ended.
   */
  readonly outcome: 'passed' | 'failed' | 'unreachable' | 'interrupted'
  /** Why it is not complete; null if it is. */
  readonly reason: string | null
  /** Without credentials and query. */
  readonly url: string
  readonly passed: number
  readonly failed: number
  readonly notChecked: number
  readonly ms: number
  readonly verdicts: readonly Verdict[]
}

interface End {
  readonly url: URL
  readonly verdicts: readonly Verdict[]
  readonly ms: number
  /** What cut the run short, and why. */
  readonly cut: { readonly by: 'unreachable' | 'interrupted'; readonly reason: string } | null
}

/** A rule that failed outweighs all else; rules that could not be checked are no failure, unless that is all of them. */
export function toReport({ url, verdicts, ms, cut }: End): Report {
  const count = (verdict: Verdict['verdict']) => verdicts.filter((one) => one.verdict === verdict).length
  const failures = count('failed')
  const isEmpty = cut === null && failures + count('passed') === 0
  return {
    outcome: failures > 0 || isEmpty ? 'failed' : (cut?.by ?? 'passed'),
    reason: cut?.reason ?? (isEmpty ? nothingChecked : null),
    url: withoutCredentials(url),
    passed: count('passed'),
    failed: failures,
    notChecked: count('not checked'),
    ms,
    verdicts,
  }
}

const nothingChecked = 'nothing was checked; give the options that the checks ask for, or choose other scenarios'

/** A URL to be shown: what may be a credential is left out. */
export function withoutCredentials({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}
