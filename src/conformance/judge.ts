import { failed, passed, type Answer, type Outcome, type TestEvent } from './port.ts'

interface Expectation {
  /** What was sent, for people. */
  readonly sent: string
  readonly answers: readonly Answer[]
  readonly timeoutMs: number
  /** What to do, where the answers do not say it by themselves. */
  readonly todo?: string
}

/** Whether the service would count a delivery as acknowledged (R43, A43). */
export function isAccepted({ status, ms }: Answer, timeoutMs: number): boolean {
  return status !== null && status >= 200 && status <= 299 && ms <= timeoutMs
}

/** Ids of the events that the receiver has vouched for, by at least one of the answers. */
export function idsOf(deliveries: readonly { event: TestEvent; answers: readonly Answer[] }[]): readonly string[] {
  return deliveries
    .filter(({ answers }) => answers.some((answer) => isAccepted(answer, Infinity)))
    .map(({ event }) => event.id)
}

/** All of them must be 2xx in time (R79). */
export function judgeAccepted({ sent, answers, timeoutMs, todo }: Expectation): Outcome {
  const wrong = answers.filter((answer) => !isAccepted(answer, timeoutMs))
  if (wrong.length === 0) return passed(summarize(answers))
  return failed({
    sent,
    expected: `2xx within ${timeoutMs} ms`,
    came: summarize(answers),
    todo: todo ?? adviceFor(wrong[0], timeoutMs),
  })
}

/** All of them must be 401 (R75). `todo` is for those that were taken for right. */
export function judgeRefused({ sent, answers, todo }: Omit<Expectation, 'timeoutMs'>): Outcome {
  const wrong = answers.find(({ status }) => status !== 401)
  if (wrong === undefined) return passed(summarize(answers))
  const advice = isAnswered(wrong) ? (todo ?? compareAdvice) : crashAdvice
  return failed({ sent, expected: '401', came: summarize(answers), todo: advice })
}

/** What to do if something was taken that is not signed with the secret. */
export const compareAdvice =
  'compare the header with the HMAC-SHA256 of the raw bytes, as 64 hex digits, and answer 401 whatever else it holds'
const crashAdvice =
  'look into the log of the receiver, and let it answer 401: comparing digests of different length throws in many languages, ' +
  'and an exception that nobody catches ends the process'

/** Whether the receiver knew what to answer. */
function isAnswered({ status }: Answer): boolean {
  return status !== null && status < 500
}

/** `200 after 12 ms`, or `18 × 200, 2 × the connection was refused, slowest 40 ms`. */
export function summarize(answers: readonly Answer[]): string {
  const counts = new Map<string, number>()
  for (const { status, failure } of answers) {
    const label = status === null ? (failure ?? 'nothing') : String(status)
    counts.set(label, (counts.get(label) ?? 0) + 1)
  }
  const slowest = answers.reduce((longest, { ms }) => Math.max(longest, ms), 0)
  if (answers.length === 1) return `${[...counts.keys()].join()} after ${slowest} ms`
  return `${[...counts].map(([label, count]) => `${count} × ${label}`).join(', ')}, slowest ${slowest} ms`
}

function adviceFor(answer: Answer | undefined, timeoutMs: number): string {
  const { status = null, ms = 0 } = answer ?? {}
  if (status === null && ms >= timeoutMs) return 'answer as soon as the event is stored, and do the work afterwards'
  if (status === null) return 'look into the log of the receiver: an exception that nobody catches may have ended it'
  if (status === 401 || status === 403) {
    return (
      'give the receiver the same secret as --secret, and let it compute the digest over the bytes as they came: ' +
      '`onchain-inbox verify` explains a signature'
    )
  }
  if (status === 404 || status === 405) return 'check the path of --url'
  if (status >= 300 && status <= 399) return 'name the final address in --url: the service does not follow redirects'
  if (status >= 500) return 'look into the log of the receiver: the service sends what was answered like this again'
  if (status <= 299) return 'answer as soon as the event is stored, and do the work afterwards'
  return 'answer 2xx to whatever is authentic: the service sends the rest again, five times'
}
