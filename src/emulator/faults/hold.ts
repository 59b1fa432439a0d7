import type { RandomStream } from '../random.ts'
import type { OutFault } from './kinds.ts'
import { drawLateness } from './lateness.ts'

const longestMs = 86_400_000

/** A fault that holds a delivery back before its first attempt. */
export type HoldFault = Extract<OutFault, { kind: 'delay' | 'reorder' | 'burst' }>

/** When a delivery goes that would have gone at `at`; both in milliseconds since 1970 of world time. */
export function hold(fault: HoldFault, at: number, stream: RandomStream): number {
  switch (fault.kind) {
    case 'delay':
      return at + drawLateness(fault, stream, longestMs)
    case 'reorder':
      return at + Math.floor(stream.uniform() * fault.windowMs)
    case 'burst':
      return Math.ceil(at / fault.everyMs) * fault.everyMs
  }
}
