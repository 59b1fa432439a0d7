import type uPlot from 'uplot'
import { formatTime } from './format.ts'

/** Marks of a time axis in UTC: the day at its beginning, seconds only where the marks are closer than a minute. */
export function timeMarks(_plot: uPlot, seconds: number[]): string[] {
  const areClose = (seconds[1] ?? Infinity) - (seconds[0] ?? 0) < 60
  return seconds.map((at) => {
    const text = formatTime(at * 1000)
    if (text.endsWith('00:00:00')) return text.slice(5, 10)
    return areClose ? text.slice(11) : text.slice(11, 16)
  })
}
