import type { OutFault } from './kinds.ts'
import type { RandomStream } from '../random.ts'

/** How late something is: parameters of the faults `delay` and `latency`. */
interface Lateness {
  readonly distribution: 'fixed' | 'uniform' | 'lognormal'
  readonly ms: number
  readonly minMs: number
  readonly maxMs: number
  readonly medianMs: number
  readonly sigma: number
}

/** Draws whole milliseconds, at most `longestMs`. */
export function drawLateness(lateness: Lateness, stream: RandomStream, longestMs: number): number {
  return Math.min(longestMs, Math.round(draw(lateness, stream)))
}

function draw({ distribution, ms, minMs, maxMs, medianMs, sigma }: Lateness, stream: RandomStream): number {
  switch (distribution) {
    case 'fixed':
      return ms
    case 'uniform':
      return minMs + stream.uniform() * Math.max(0, maxMs - minMs)
    case 'lognormal':
      return medianMs * Math.exp(sigma * drawNormal(stream))
  }
}

/** Box and Muller: of mean 0 and deviation 1. */
function drawNormal(stream: RandomStream): number {
  const radius = Math.sqrt(-2 * Math.log(1 - stream.uniform()))
  return radius * Math.cos(2 * Math.PI * stream.uniform())
}

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
