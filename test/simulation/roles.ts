import { hashOf } from './random.ts'
import type { ResolvedHandler } from '../../src/dispatch/resolved-handler.ts'

type Options = Partial<Omit<ResolvedHandler, 'run' | 'kind' | 'name' | 'file'>>

/** What runs may do beside their work, by weight. */
export interface Mood {
  readonly work: number
  readonly fail?: number
  readonly giveUp?: number
  readonly askForTime?: number
  readonly snooze?: number
  /** Goes on past its timeout: heeding the signal, or not for a while. */
  readonly oversleep?: number
  readonly hang?: number
}

export interface Role {
  readonly options: Options
  readonly mood: Mood
  /** How it keeps account of what it has done. */
  readonly account: 'log' | 'numbers'
  readonly leavesItems: boolean
  /** How long its work takes at most; default 15. */
  readonly mostMs?: number
  /** By themselves they end their thread, with so many of the events. */
  readonly poisonedShare?: number
}

export const retry = { attempts: 3, baseMs: 20, capMs: 300 }

/** The handlers there are. A simulation has some of them. */
export const roles: { readonly [name: string]: Role } = {
  counter: {
    options: { concurrency: 4 },
    mood: { work: 20, fail: 1 },
    account: 'log',
    leavesItems: true,
  },
  holding: {
    options: { onDead: 'hold', types: ['wallet.*'] },
    mood: { work: 10, giveUp: 4, fail: 1 },
    account: 'log',
    leavesItems: true,
  },
  // All of its runs change one value, and the store is slow compared with them.
  hot: {
    options: { order: 'none', concurrency: 4 },
    mood: { work: 1 },
    account: 'log',
    leavesItems: false,
    mostMs: 4,
  },
  latest: {
    options: { latestOnly: true },
    mood: { work: 8, fail: 1, snooze: 1 },
    account: 'log',
    leavesItems: false,
  },
  loose: {
    options: { order: 'none', concurrency: 4 },
    mood: { work: 10, fail: 1, snooze: 1 },
    account: 'log',
    leavesItems: true,
  },
  moody: {
    options: { concurrency: 2, priority: 1 },
    mood: { work: 6, fail: 2, giveUp: 1, askForTime: 1, snooze: 1 },
    account: 'log',
    leavesItems: false,
  },
  numbering: {
    options: { order: 'none', concurrency: 3 },
    mood: { work: 10, fail: 1 },
    account: 'numbers',
    leavesItems: false,
  },
  late: {
    options: { from: 'beginning', concurrency: 2 },
    mood: { work: 10, fail: 1, giveUp: 1 },
    account: 'log',
    leavesItems: true,
  },
  lateLatest: {
    options: { from: 'beginning', latestOnly: true },
    mood: { work: 8, fail: 1, snooze: 1 },
    account: 'log',
    leavesItems: false,
  },
  picky: {
    options: { maxAgeMs: 3_600_000, match: (event) => hashOf(event.id) % 3 !== 0, rate: 100 },
    mood: { work: 8, fail: 1 },
    account: 'log',
    leavesItems: false,
  },
  poisoned: {
    options: { types: ['token.*', 'wallet.*'] },
    mood: { work: 1 },
    account: 'log',
    leavesItems: false,
    poisonedShare: 0.1,
  },
  slow: {
    options: { timeoutMs: 60, concurrency: 2 },
    mood: { work: 6, oversleep: 2, hang: 1 },
    account: 'log',
    leavesItems: true,
  },
}

/** Handlers that come while others work already, and get all that is stored. */
export const lateNames: readonly string[] = Object.keys(roles).filter((name) => roles[name]!.options.from !== undefined)

/** Where the items go; not a handler of events. */
export const sinkName = 'audit'

export const sinkOptions = { retry, concurrency: 2, batch: 3, timeoutMs: 100 }

/** How many items a run leaves when it is done. */
export function itemsOf(handler: string, eventId: string): number {
  return roles[handler]?.leavesItems ? hashOf(`${handler} ${eventId}`) % 3 : 0
}

/** The key of the state under which a run keeps account. */
export function accountOf(handler: string, key: string | null): string {
  return roles[handler]?.account === 'numbers' ? numbersPrefix : key === null ? 'log:' : `log:${key}`
}

export const numbersPrefix = 'number:'
