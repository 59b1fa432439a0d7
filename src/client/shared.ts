import type { Clock } from '../clock.ts'

/** How long the list may be used (R123). */
const longestMs = 300_000

export interface Shared<T> {
  /** What is there, at most five minutes old, or what is on its way; `fresh`: asks anew. */
  get(fresh: boolean): Promise<T>
}

/** Keeps what `ask` gave for five minutes from when it was asked (R123). Of calls at the same time one asks; a failure is not kept. */
export function createShared<T>(clock: Clock, ask: () => Promise<T>): Shared<T> {
  let kept: Asked<T> | undefined

  function isUsable(asked: Asked<T>, fresh: boolean): boolean {
    if (asked.isUnderWay) return true
    const ageMs = clock.now() - asked.askedAt
    // A clock that was set back says nothing about the age.
    return !fresh && ageMs >= 0 && ageMs < longestMs
  }

  function askAnew(): Asked<T> {
    const asked = { askedAt: clock.now(), answer: ask(), isUnderWay: true }
    asked.answer.then(
      () => {
        asked.isUnderWay = false
      },
      () => {
        if (kept === asked) kept = undefined
      },
    )
    return asked
  }

  return {
    get(fresh) {
      if (kept === undefined || !isUsable(kept, fresh)) kept = askAnew()
      return kept.answer
    },
  }
}

interface Asked<T> {
  readonly askedAt: number
  readonly answer: Promise<T>
  isUnderWay: boolean
}
