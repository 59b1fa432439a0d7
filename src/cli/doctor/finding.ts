/**
 * What one check of `doctor` came to.
 *   ok    nothing to do
 *   warn  it works, but somebody should know
 *   fail  it does not work, or will lose something, until it is mended
 */
export type Result = 'ok' | 'warn' | 'fail'

export interface Finding {
  /** What was looked at, in a word or two; the same words in every version. */
  readonly check: string
  readonly result: Result
  /** What was found: values with their units, never a secret. */
  readonly found: string
  /** What to do; null where nothing is to be done. */
  readonly advice: string | null
}

export const ok = (check: string, found: string): Finding => ({ check, result: 'ok', found, advice: null })

export const warn = (check: string, found: string, advice: string): Finding => ({
  check,
  result: 'warn',
  found,
  advice,
})

export const fail = (check: string, found: string, advice: string): Finding => ({
  check,
  result: 'fail',
  found,
  advice,
})
