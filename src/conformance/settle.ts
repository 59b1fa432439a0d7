import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import { safeText } from '../log.ts'
import type { EffectsReader } from './effects.ts'
import { failed, notChecked, passed, type ExpectedEffects, type Outcome } from './port.ts'

export interface SettleOptions {
  readonly read: EffectsReader
  readonly clock: Clock
  readonly wait: (ms: number) => Promise<void>
  /** Longest time until the receiver is quiet. */
  readonly limitMs: number
  /** What the ids of this run begin with; others mean nothing. */
  readonly prefix: string
}

const pollMs = 100
const quietMs = 500
const shown = 3

/** What the receiver had done when it was read last. */
interface Reading {
  /** Ids of events of this run, one per effect. */
  readonly effects: readonly string[]
  /** Whether nothing was done any more for a while. */
  readonly isQuiet: boolean
}

/** Waits until the receiver has done what it must and is quiet, and compares. */
export async function judgeEffects(expected: ExpectedEffects, options: SettleOptions): Promise<Outcome> {
  const { once = [], done = [], never = [], inOrder = [], sent, todo } = expected
  if (once.length + done.length + inOrder.length === 0) return notChecked('no event was accepted')
  const mustBeDone = new Set([...once, ...done, ...inOrder])
  const expectation = [
    ...(once.length > 0 ? ['each event done once'] : []),
    ...(done.length > 0 ? ['each event done'] : []),
    ...(inOrder.length > 0 ? ['done in the order in which they were sent'] : []),
    ...(never.length > 0 ? ['nothing done of what was refused'] : []),
  ].join(', ')
  const wrong = (came: string, advice = todo) => failed({ sent, expected: expectation, came, todo: advice })
  let reading: Reading
  try {
    reading = await settle([...mustBeDone], new Set(never), options)
  } catch (error) {
    const reason = `the effects could not be read: ${safeText(messageOf(error))}`
    return wrong(reason, 'let --effects name a URL or a command that tells what was done: docs/conformance.md')
  }

  const { effects, isQuiet } = reading
  const counts = new Map<string, number>()
  for (const id of effects) counts.set(id, (counts.get(id) ?? 0) + 1)
  const repeated = once.filter((id) => (counts.get(id) ?? 0) > 1)
  if (repeated.length > 0) return wrong(`done ${counts.get(repeated[0] ?? '')} times: ${list(repeated)}`)
  const forbidden = never.filter((id) => counts.has(id))
  if (forbidden.length > 0) return wrong(`done: ${list(forbidden)}`)
  const missing = [...mustBeDone].filter((id) => !counts.has(id))
  if (missing.length > 0) {
    return wrong(
      `${missing.length} of ${mustBeDone.size} acknowledged events not done within ${options.limitMs / 1_000} s: ${list(missing)}`,
    )
  }
  const misplaced = firstMisplaced(inOrder, effects)
  if (misplaced !== undefined) return wrong(`${misplaced} was done before one that was sent earlier`)
  if (!isQuiet)
    return notChecked(`the receiver was still at work after ${options.limitMs / 1_000} s (--settle waits longer)`)
  return passed(expectation)
}

/** Reads until all of them are done and nothing more was done for a while, or the time is up. */
async function settle(
  ids: readonly string[],
  never: ReadonlySet<string>,
  { read, clock, wait, limitMs, prefix }: SettleOptions,
): Promise<Reading> {
  const deadline = clock.now() + limitMs
  let last: { readonly effects: readonly string[]; readonly since: number } | undefined
  for (;;) {
    const isLate = clock.now() >= deadline
    try {
      const effects = (await read()).filter((id) => id.startsWith(prefix) || never.has(id))
      const now = clock.now()
      if (last === undefined || effects.length !== last.effects.length) last = { effects, since: now }
      const seen = new Set(effects)
      const isQuiet = now - last.since >= quietMs
      if (isLate || (isQuiet && ids.every((id) => seen.has(id)))) return { effects, isQuiet }
    } catch (error) {
      // It may be read in the middle of a line.
      if (isLate) throw error
    }
    await wait(pollMs)
  }
}

/** The first that was done before the one sent right before it. */
function firstMisplaced(inOrder: readonly string[], effects: readonly string[]): string | undefined {
  const places = inOrder.map((id) => effects.indexOf(id))
  return inOrder.find((_, index) => index > 0 && (places[index] ?? 0) < (places[index - 1] ?? 0))
}

function list(ids: readonly string[]): string {
  const rest = ids.length - shown
  return `${ids
    .slice(0, shown)
    .map((id) => safeText(id))
    .join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
