import type { EventQuery } from '../../port.ts'

/** What the index can look for: words, whole fields, or several of them. */
export type Asked = Pick<EventQuery, 'type' | 'network' | 'address' | 'q'>

/** Which part of the accept sequence the index has, and where in it events of a time may lie. `lowest > highest`: none does. */
export interface Reach {
  /** Up to which everything is in it; 0 where it is being made. */
  readonly indexedSeq: number
  readonly lowest: number
  readonly highest: number
}

export interface Found {
  /** Newest first. */
  readonly seqs: readonly number[]
  /** Everything from here on was looked at: the place to go on below. `lowest` when there is nothing more. */
  readonly reached: number
}

/** How the list of events asks the index. What is newer than `indexedSeq` is to be looked at one by one. */
export interface EventFinder {
  /** Between which numbers to look for events that were received at or after `from` and before `to`. */
  reach(time: Pick<EventQuery, 'from' | 'to'>): Promise<Reach>
  /** Whether `find` has anything to go by. */
  canFind(asked: Asked): boolean
  /**
   * Events with `lowest <= seq < below` that have all that is asked for, at most `limit`; fewer where it took longer than some 30 ms.
   * An event whose body is gone is found by its fields, but no more by its words. Null: the index does not go up to `below`, or not any
   * more, because it is made anew; look at them one by one.
   */
  find(asked: Asked, below: number, lowest: number, limit: number): Promise<Found | null>
}
