import { formatTime } from '../../ui/format.ts'
import { shortText } from '../../ui/text.tsx'
import type { ReplayJson } from '../contract.ts'

/** The filter of a replay: `type wallet.large_trade, network base, from 2026-01-31 14:00:00 UTC`. */
export function filterText(filter: ReplayJson['filter']): string {
  const parts = Object.entries(filter).map(([name, value]) => {
    if (Array.isArray(value))
      return value.length === 1 ? `event ${shortText(String(value[0]))}` : `${value.length} events by id`
    const text = String(value)
    return `${shortText(name, 20)} ${name === 'from' || name === 'to' ? `${formatTime(text)} UTC` : shortText(text, 100)}`
  })
  return parts.join(', ')
}
