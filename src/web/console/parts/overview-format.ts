import { formatDuration, formatNumber } from '../../ui/format.ts'

const dash = '–'

/** A duration that is held against seconds: `1.3 ms`, `48 ms`, `4.21 s`; longer ones in words. */
export function formatMs(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms)) return dash
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${Number((ms / 1_000).toFixed(2))} s` : formatDuration(ms)
}

/**
 * A part of 1 in percent, with as many digits as tell it from all and from nothing: `99.98 %`. What is not all is never shown as all.
 */
export function formatShare(share: number | null): string {
  if (share === null || !Number.isFinite(share)) return dash
  const percent = share * 100
  const digits = percent > 99 || percent < 1 ? 2 : 1
  const shown = Number(percent.toFixed(digits))
  if (shown === 100 && share < 1) return '> 99.99 %'
  if (shown === 0 && share > 0) return '< 0.01 %'
  return `${shown} %`
}

/** `12.5/s`. */
export function formatRate(perSecond: number): string {
  return `${formatNumber(Number(perSecond.toPrecision(3)))}/s`
}
