import { Time } from '../../ui/time.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import type { WorldClock } from '../contract.ts'
import { useWorldTime } from './use-world-time.ts'

/** The time of the world and how it goes. */
export function ClockReadout() {
  const time = useWorldTime()
  if (time === null) return <span className="ui-dimmed">World time</span>
  return (
    <span className="ui-row">
      <span className="ui-dimmed">World time</span>
      <span>
        <Time at={time.now} /> UTC
      </span>
      <StatusBadge status={modeInWords(time.clock)} tone={time.clock.mode === 'real' ? 'neutral' : 'warning'} />
    </span>
  )
}

function modeInWords({ mode, speed }: WorldClock): string {
  return mode === 'scaled' ? `${speed}× as fast` : mode
}
