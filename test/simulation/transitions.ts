import { maxCrashes, type RunState } from '../../src/inbox/port.ts'
import type { RunRow } from './journal.ts'

/** What ended a lease: a verdict on the attempt, a crash of who held it, or that it was given back unworked. */
export type LeaseEnd = 'verdict' | 'crash' | 'given back'

type Rule = (before: RunRow, after: RunRow) => boolean

const charged: Rule = (before, after) => after.attempt === before.attempt
const uncharged: Rule = (before, after) => after.attempt === before.attempt - 1
const sameCrashes: Rule = (before, after) => after.crashed === before.crashed
const sameFailures: Rule = (before, after) => after.failed === before.failed
const replayed: Rule = (before) => before.replay !== 0
const forgiven: Rule = (_, after) => after.crashed === 0
const failedOnce: Rule = (before, after) => after.failed === before.failed + 1
const crashedOnce: Rule = (before, after) => after.crashed === before.crashed + 1
const all =
  (...rules: readonly Rule[]): Rule =>
  (before, after) =>
    rules.every((rule) => rule(before, after))

const moved = all(charged, sameCrashes, sameFailures)
const claimed = all(
  (before, after) => after.attempt === before.attempt + 1 && after.token === before.token + 1,
  sameCrashes,
  sameFailures,
)
const requeued: Rule = (_, after) => after.attempt === 0 && after.failed === 0 && after.crashed === 0
const ended = all(charged, forgiven, sameFailures)
const crashedOut = all(charged, crashedOnce, sameFailures, (_, after) => after.crashed >= maxCrashes)

/** How runs may go from state to state, and what that means for a lease. What is not here is wrong. */
const transitions: readonly (readonly [from: RunState, to: RunState, end: LeaseEnd | null, rule: Rule])[] = [
  ['waiting', 'ready', null, moved],
  ['waiting', 'superseded', null, all(charged, sameFailures)],
  ['ready', 'superseded', null, all(charged, sameFailures)],
  ['ready', 'running', null, claimed],
  ['suspect', 'running', null, claimed],
  ['running', 'done', 'verdict', ended],
  ['running', 'dead', 'verdict', ended],
  ['running', 'held', 'verdict', ended],
  ['running', 'dead', 'crash', crashedOut],
  ['running', 'held', 'crash', crashedOut],
  // A retry, or a snooze.
  ['running', 'ready', 'verdict', all(charged, failedOnce, forgiven)],
  ['running', 'ready', 'given back', all(uncharged, sameFailures, forgiven)],
  ['running', 'suspect', 'crash', all(charged, crashedOnce, sameFailures, (_, after) => after.crashed < maxCrashes)],
  ['running', 'suspect', 'given back', all(uncharged, sameCrashes, sameFailures, (_, after) => after.crashed > 0)],
  ['running', 'superseded', 'verdict', all(forgiven, sameFailures)],
  ['running', 'expired', 'verdict', all(uncharged, forgiven, sameFailures)],
  ['running', 'unmatched', 'verdict', all(uncharged, forgiven, sameFailures)],
  // Its replay was cancelled: what would be tried again is not.
  ['running', 'dropped', 'verdict', all(replayed, charged, forgiven)],
  ['running', 'dropped', 'given back', all(replayed, uncharged, forgiven, sameFailures)],
  ['running', 'dropped', 'crash', all(replayed, charged, forgiven, sameFailures)],
  ['waiting', 'dropped', null, ended],
  ['ready', 'dropped', null, ended],
  ['suspect', 'dropped', null, ended],
  ['held', 'dropped', null, ended],
  ['dead', 'dropped', null, ended],
  ['dead', 'ready', null, requeued],
  ['dead', 'waiting', null, requeued],
  ['held', 'ready', null, requeued],
  // Behind an older dead letter of its key that was requeued first.
  ['held', 'waiting', null, requeued],
]

/** Whether only the time changed at which a run is due, because the clock was set back. */
export function wasShifted(before: RunRow, after: RunRow): boolean {
  return before.state === after.state && moved(before, after) && before.token === after.token
}

/** What a change of a run means for its lease; undefined if it may not be. */
export function meaningOf(before: RunRow, after: RunRow): LeaseEnd | null | undefined {
  const allowed = transitions.find(
    ([from, to, , rule]) => from === before.state && to === after.state && rule(before, after),
  )
  return allowed?.[2]
}

/** Whether a run may begin its life so: in line, or claimed by the transaction that creates it. */
export function mayBegin({ state, attempt, failed, crashed, token }: RunRow): boolean {
  if (failed !== 0 || crashed !== 0) return false
  return state === 'running' ? attempt === 1 && token === 1 : isIdle(state) && attempt === 0 && token === 0
}

export function isOpen(state: RunState): boolean {
  return isIdle(state) || isActive(state)
}

/** Whether runs of the same key have to wait for it. */
export function isActive(state: RunState): boolean {
  return state === 'ready' || state === 'suspect' || state === 'running' || state === 'held'
}

function isIdle(state: RunState): boolean {
  return state === 'waiting' || state === 'ready'
}
