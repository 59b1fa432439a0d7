export interface Answer {
  /** Null without an answer; `failure` then says why. */
  readonly status: number | null
  readonly failure: string | null
  /** True if the connection stayed open and no answer came within the limit. */
  readonly isLate: boolean
  /** Time from the first byte sent to the status line. */
  readonly ms: number
}

export interface Outcome {
  readonly verdict: 'passed' | 'failed' | 'not checked'
  /** The answers. For a failure also request, expectation and advice, one per line. Never a secret or a signature. */
  readonly detail: string
}

export interface Expectation {
  readonly expected: (timeoutMs: number) => string
  readonly holds: (answer: Answer, timeoutMs: number) => boolean
  readonly advice: (answer: Answer) => string
}

interface Judged {
  readonly sent: string
  readonly answers: readonly Answer[]
  readonly timeoutMs: number
  /** Default: the advice of the expectation. */
  readonly fix?: Advice | undefined
}

/** Advice on the first wrong answer and its index. Undefined: the advice of the expectation. */
export type Advice = string | ((wrong: Answer, index: number) => string | undefined)

/** How often acknowledged events must be done. */
export type EffectsRule = 'once' | 'done'

/** An option that a check needs. */
export type Need = 'effects' | 'restart' | 'nextSecret'

export interface Check {
  /** The rule, as a sentence. */
  readonly rule: string
  /** The expected answer to all deliveries; or the rule for effects of acknowledged events. */
  readonly expected: Expectation | EffectsRule
  readonly fix?: Advice | undefined
  /** Deliveries to judge, by their `part`; default: those without one. */
  readonly part?: string
}

export const passed = (detail: string): Outcome => ({ verdict: 'passed', detail })
export const notChecked = (detail: string): Outcome => ({ verdict: 'not checked', detail })

export function failed({ sent, expected, got, fix }: Record<'sent' | 'expected' | 'got' | 'fix', string>): Outcome {
  return { verdict: 'failed', detail: `sent: ${sent}\nexpected: ${expected}\ngot: ${got}\nfix: ${fix}` }
}

/** Passes if all answers meet the expectation. */
export function judge({ expected, holds, advice }: Expectation, { sent, answers, timeoutMs, fix }: Judged): Outcome {
  const index = answers.findIndex((answer) => !holds(answer, timeoutMs))
  const wrong = answers[index]
  const got = summarize(answers)
  if (wrong === undefined) return passed(got)
  const special = typeof fix === 'function' ? fix(wrong, index) : fix
  return failed({ sent, expected: expected(timeoutMs), got, fix: special ?? advice(wrong) })
}

/** True if the service counts the delivery as acknowledged, however long it took. */
export function isAccepted({ status }: Answer): boolean {
  return status !== null && status >= 200 && status <= 299
}

/** True if the receiver handled the request without a crash. */
export function isAnswered({ status }: Answer): boolean {
  return status !== null && status < 500
}

/** True for an answer of the receiver, as opposed to that of a proxy whose receiver is gone. */
export function isFromReceiver({ status }: Answer): boolean {
  return status !== null && ![502, 503, 504].includes(status)
}

export const accepted: Expectation = {
  expected: (timeoutMs) => `2xx within ${timeoutMs} ms`,
  holds: (answer, timeoutMs) => isAccepted(answer) && answer.ms <= timeoutMs,
  advice({ status, isLate }) {
    if (status === null && !isLate) return 'read the log of the receiver: an uncaught exception may have ended it'
    if (status === null || status <= 299) return 'answer as soon as the event is stored, and do the work afterwards'
    if (status === 401 || status === 403) {
      return (
        'give the receiver the same secret as --secret, and compute the digest over the received bytes: ' +
        '`onchain-inbox verify` explains a signature'
      )
    }
    if (status === 404 || status === 405) return 'check the path of --url'
    if (status <= 399) return 'give the final address as --url: the service does not follow redirects'
    if (status >= 500) return 'read the log of the receiver: the service retries after such an answer'
    return 'answer 2xx to every signed delivery: the service retries others five times'
  },
}

export const rejected: Expectation = {
  expected: () => '401',
  holds: ({ status }) => status === 401,
  advice: (wrong) =>
    isAnswered(wrong)
      ? 'compare the header with the HMAC-SHA256 of the raw bytes, as 64 hex digits, and answer 401 if they differ'
      : 'read the log of the receiver, and let it answer 401: comparing digests of different length throws in many ' +
        'languages, and an uncaught exception ends the process',
}

/** `200 after 12 ms`, or `18 × 200, 2 × the connection was refused, slowest 40 ms`. */
export function summarize(answers: readonly Answer[]): string {
  const labels = Map.groupBy(answers, ({ status, failure }) => String(status ?? failure))
  const slowest = Math.max(0, ...answers.map(({ ms }) => ms))
  if (answers.length === 1) return `${[...labels.keys()].join()} after ${slowest} ms`
  return `${[...labels].map(([label, { length }]) => `${length} × ${label}`).join(', ')}, slowest ${slowest} ms`
}
