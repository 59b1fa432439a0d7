import { Button } from '@mantine/core'
import { useAction, useGet } from '../ui/api.tsx'
import { formatTime } from '../ui/format.ts'
import { Panel } from '../ui/shell.tsx'
import { Failure } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import { Time, useNow } from '../ui/values.tsx'
import type { WorldClock } from './contract.ts'

/** Current world time, in ms; null until the clock is loaded. */
function useWorldTime(): { readonly clock: WorldClock; readonly now: number } | null {
  const { data: clock, dataUpdatedAt: readAt } = useGet<WorldClock>('/clock')
  const at = useNow()
  return clock === undefined ? null : { clock, now: Date.parse(clock.now) + Math.max(0, at - readAt) * speedOf(clock) }
}

function speedOf({ mode, speed }: WorldClock): number {
  return mode === 'real' ? 1 : mode === 'manual' ? 0 : speed
}

/** World time and its speed, in the header of every page. */
export function ClockReadout() {
  const time = useWorldTime()
  if (time === null) return null
  const speed = speedOf(time.clock)
  return (
    <span className="ui-row" aria-label="World time" role="group">
      <Time at={time.now} />
      <Status tone={speed === 0 ? 'warning' : speed === 1 ? 'neutral' : 'info'}>
        {speed === 0 ? 'paused' : `×${speed}`}
      </Status>
    </span>
  )
}

const speeds = [1, 10, 60, 600] as const

/** The delays of the retry ladder (R81–R85), in minutes. */
const steps = [
  ['1 min', 1],
  ['5 min', 5],
  ['30 min', 30],
  ['2 h', 120],
  ['8 h', 480],
] as const

/** Pauses the world, sets its speed, and advances it while it is paused. */
export function ClockPanel() {
  const clock = useGet<WorldClock>('/clock').data
  const set = useAction((api, speed: number) => api.send('POST', '/clock', clockAt(speed)))
  const advance = useAction((api, minutes: number) =>
    api.send<WorldClock>('POST', '/clock/advance', { ms: minutes * 60_000 }),
  )
  const speed = clock === undefined ? null : speedOf(clock)
  return (
    <Panel title="Clock" note="Retries run on world time">
      <div className="ui-row">
        {[0, ...speeds].map((wanted) => (
          <Button
            key={wanted}
            variant={wanted === speed ? 'filled' : 'default'}
            aria-pressed={wanted === speed}
            disabled={set.isPending}
            onClick={() => set.mutate(wanted)}
          >
            {wanted === 0 ? 'Pause' : `×${wanted}`}
          </Button>
        ))}
      </div>
      {speed === 0 && (
        <div className="ui-row" role="group" aria-label="Advance">
          <span className="ui-dim">Advance</span>
          {steps.map(([name, minutes]) => (
            <Button key={name} variant="default" loading={advance.isPending} onClick={() => advance.mutate(minutes)}>
              {name}
            </Button>
          ))}
          <span role="status">{advance.data !== undefined && `Advanced to ${formatTime(advance.data.now)}`}</span>
        </div>
      )}
      <Failure error={set.error ?? advance.error} />
    </Panel>
  )
}

function clockAt(speed: number): object {
  if (speed === 0) return { mode: 'manual' }
  return speed === 1 ? { mode: 'real' } : { mode: 'scaled', speed }
}
