import { formatTime } from '../../ui/format.ts'
import { toVisible } from '../../ui/plain-text.tsx'
import type { ReplayJson } from '../contract.ts'

/** The filter of a replay in words: `events of type wallet.large_trade on ethereum, received from … UTC, for the handler x`. */
export function filterInWords(filter: ReplayJson['filter']): string {
  const text = (name: string) => {
    const value = filter[name]
    return typeof value === 'string' ? toVisible(value) : null
  }
  const of = (name: string, words: (value: string) => string) => {
    const value = text(name)
    return value === null ? [] : [words(value)]
  }
  const ids = filter['ids']
  const parts = [
    ...(Array.isArray(ids) ? [idsInWords(ids)] : ['events']),
    ...of('type', (value) => `of type ${value}`),
    ...of('network', (value) => `on ${value}`),
    ...of('address', (value) => `about ${value}`),
    ...of('status', (value) => `that are ${value}`),
    ...of('from', (value) => `received from ${formatTime(value)} UTC`),
    ...of('to', (value) => `received before ${formatTime(value)} UTC`),
    ...of('handler', (value) => `for the handler ${value}`),
  ]
  return parts.join(' ')
}

function idsInWords(ids: readonly unknown[]): string {
  const [first] = ids
  return ids.length === 1 && typeof first === 'string'
    ? `the event ${toVisible(first)}`
    : `${ids.length} events by their ids`
}
