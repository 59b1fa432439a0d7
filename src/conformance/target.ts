import type { Clock } from '../clock.ts'
import { summarize } from './judge.ts'
import type { Answer, ScenarioContext } from './port.ts'

interface TargetOptions extends Pick<ScenarioContext, 'deliver' | 'newEvent' | 'wait'> {
  readonly clock: Clock
  readonly limitMs: number
  /** How long a single answer is waited for. */
  readonly patienceMs: number
  readonly signal: AbortSignal
}

const pollMs = 200
/** What a proxy says of a receiver that is not there. */
const absent = [502, 503, 504]

/** Waits until the receiver answers. Gives what came last instead if that takes too long, or null. */
export async function untilThere(options: TargetOptions): Promise<string | null> {
  const answer = await ask(options, isHere)
  return isHere(answer) ? null : summarize([answer])
}

/**
 * Waits until the receiver can be reached: an answer that is late is its failure, no absence, and so is a 503 that does not go away.
 * Gives what came last instead if no connection can be made, or none that is kept until the answer; or null.
 */
export async function untilReached(options: TargetOptions): Promise<string | null> {
  const answer = await ask(options, (one) => isHere(one) || one.isLate)
  return answer.status !== null || answer.isLate ? null : summarize([answer])
}

function isHere({ status }: Answer): boolean {
  return status !== null && !absent.includes(status)
}

/**
 * Asks, by an event, until the answer is good enough or the time is up. By an event, because only that is sure to reach the receiver
 * behind whatever stands in front of it, and hurts none.
 */
async function ask(
  { deliver, newEvent, wait, clock, limitMs, patienceMs, signal }: TargetOptions,
  isEnough: (answer: Answer) => boolean,
): Promise<Answer> {
  const deadline = clock.now() + limitMs
  for (;;) {
    const answer = await deliver(newEvent(), { limitMs: patienceMs })
    if (isEnough(answer) || signal.aborted || clock.now() >= deadline) return answer
    await wait(pollMs)
  }
}
