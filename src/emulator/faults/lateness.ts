import type { RandomStream } from '../random.ts'

/** How late something is: parameters of the faults `delay` and `latency`. */
export interface Lateness {
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
