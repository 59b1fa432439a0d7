import { hashOf } from './random.ts'
import type { ResolvedHandler } from '../../src/dispatch/resolved-handler.ts'

type Options = Partial<Omit<ResolvedHandler, 'run' | 'kind' | 'name' | 'file'>>

/** Behaviours of a handler, by weight. */
export interface Mood {
  readonly work: number
  readonly fail?: number
  readonly createDeadLetters?: number
  readonly askForTime?: number
  readonly snooze?: number
  /** Continue past the timeout: `oversleep` until the abort, `hang` for some time after it. */
  readonly oversleep?: number
  readonly hang?: number
}

export interface Role {
  readonly options: Options
  readonly mood: Mood
  readonly leavesItems: boolean
  /** Maximum duration of an attempt in milliseconds. Default 15. */
  readonly maxMs?: number
  /** Share of events that end the handler's thread. */
  readonly poisonedShare?: number
}

export const retry = { attempts: 3, baseMs: 20, capMs: 300 }

/** All handlers. A simulation uses some of them. */
export const roles: { readonly [name: string]: Role } = {
  counter: {
    options: { concurrency: 4 },
    mood: { work: 20, fail: 1 },
    leavesItems: true,
  },
  holding: {
    options: { onDead: 'hold', types: ['wallet.*'] },
    mood: { work: 10, createDeadLetters: 4, fail: 1 },
    leavesItems: true,
  },
  // All runs change one value, and are fast compared with the store.
  hot: {
    options: { order: 'none', concurrency: 4 },
    mood: { work: 1 },
    leavesItems: false,
    maxMs: 4,
  },
  latest: {
    options: { latestOnly: true },
    mood: { work: 8, fail: 1, snooze: 1 },
    leavesItems: false,
  },
  loose: {
    options: { order: 'none', concurrency: 4 },
    mood: { work: 10, fail: 1, snooze: 1 },
    leavesItems: true,
  },
  moody: {
    options: { concurrency: 2, priority: 1 },
    mood: { work: 6, fail: 2, createDeadLetters: 1, askForTime: 1, snooze: 1 },
    leavesItems: false,
  },
  late: {
    options: { from: 'beginning', concurrency: 2 },
    mood: { work: 10, fail: 1, createDeadLetters: 1 },
    leavesItems: true,
  },
  lateLatest: {
    options: { from: 'beginning', latestOnly: true },
    mood: { work: 8, fail: 1, snooze: 1 },
    leavesItems: false,
  },
  picky: {
    options: { maxAgeMs: 3_600_000, match: (event) => hashOf(event.id) % 3 !== 0, rate: 100 },
    mood: { work: 8, fail: 1 },
    leavesItems: false,
  },
  poisoned: {
    options: { types: ['token.*', 'wallet.*'] },
    mood: { work: 1 },
    leavesItems: false,
    poisonedShare: 0.1,
  },
  slow: {
    options: { timeoutMs: 60, concurrency: 2 },
    mood: { work: 6, oversleep: 2, hang: 1 },
    leavesItems: true,
  },
}

/** Handlers that are deployed later, with a backfill. */
export const lateNames: readonly string[] = Object.keys(roles).filter((name) => roles[name]!.options.from !== undefined)

/** The sink of all items. */
export const sinkName = 'audit'

export const sinkOptions = { retry, concurrency: 2, batch: 3, timeoutMs: 100 }

/** Number of items that a done run leaves. */
export function itemsOf(handler: string, eventId: string): number {
  return roles[handler]?.leavesItems ? hashOf(`${handler} ${eventId}`) % 3 : 0
}

/** The state key under which runs list their events. */
export function accountOf(key: string | null): string {
  return key === null ? 'log:' : `log:${key}`
}
