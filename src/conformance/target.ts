import type { Clock } from '../clock.ts'
import { summarize } from './judge.ts'
import type { ScenarioContext } from './port.ts'

interface TargetOptions extends Pick<ScenarioContext, 'deliver' | 'newEvent' | 'wait'> {
  readonly clock: Clock
  readonly limitMs: number
  readonly signal: AbortSignal
}

const pollMs = 200
/** What a proxy says of a receiver that is not there. */
const absent = [502, 503, 504]

/**
 * Asks, by an event, until the receiver answers. Gives what came last instead if that takes too long, or null. By an event, because
 * only that is sure to reach the receiver behind whatever stands in front of it, and hurts none.
 */
export async function untilThere({
  deliver,
  newEvent,
  wait,
  clock,
  limitMs,
  signal,
}: TargetOptions): Promise<string | null> {
  const deadline = clock.now() + limitMs
  for (;;) {
    const answer = await deliver(newEvent())
    if (answer.status !== null && !absent.includes(answer.status)) return null
    if (signal.aborted || clock.now() >= deadline) return summarize([answer])
    await wait(pollMs)
  }
}
