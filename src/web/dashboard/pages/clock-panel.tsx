import { Button, NativeSelect, NumberInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { formatTime } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { ClockMode, WorldClock } from '../contract.ts'
import { ClockReadout } from '../parts/clock-readout.tsx'
import { useWorldTime } from '../parts/use-world-time.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** The delays of the retry ladder (R81–R85). */
const steps = [
  ['1 min', minuteMs],
  ['5 min', 5 * minuteMs],
  ['30 min', 30 * minuteMs],
  ['2 h', 2 * hourMs],
  ['8 h', 8 * hourMs],
] as const

/** How the clock of the world goes, and how far a manual one is moved on. */
export function ClockPanel() {
  const time = useWorldTime()
  return (
    <Panel title="Clock">
      <ClockReadout />
      {time !== null && <ModeForm key={`${time.clock.mode} ${time.clock.speed}`} clock={time.clock} />}
      {time?.clock.mode === 'manual' && <Advance />}
    </Panel>
  )
}

function ModeForm({ clock }: { readonly clock: WorldClock }) {
  const api = useApiClient()
  const [mode, setMode] = useState<ClockMode>(clock.mode)
  const [speed, setSpeed] = useState<number | string>(clock.mode === 'scaled' ? clock.speed : 60)
  const { run, isBusy, error } = useAct()
  const set = (event: SubmitEvent) => {
    event.preventDefault()
    void run(() => api.send('POST', '/clock', { mode, ...(mode === 'scaled' && { speed }) }))
  }
  return (
    <form className="ui-stack" onSubmit={set}>
      <div className="ui-form">
        <NativeSelect
          label="Mode"
          data={[
            { value: 'real', label: 'Real: as fast as ours' },
            { value: 'scaled', label: 'Scaled: so many times as fast' },
            { value: 'manual', label: 'Manual: it stands until it is moved' },
          ]}
          value={mode}
          onChange={(event) => setMode(event.currentTarget.value as ClockMode)}
        />
        {mode === 'scaled' && (
          <NumberInput
            label="Speed"
            min={0.001}
            max={1e6}
            hideControls
            required
            withAsterisk={false}
            value={speed}
            onChange={setSpeed}
          />
        )}
        <Button type="submit" loading={isBusy}>
          Set the clock
        </Button>
      </div>
      <ErrorState error={error} />
    </form>
  )
}

function Advance() {
  const api = useApiClient()
  const [minutes, setMinutes] = useState<number | string>(10)
  const [reached, setReached] = useState<string | null>(null)
  const { run, isBusy, error } = useAct()
  const advance = (ms: number) =>
    void run(async () => {
      setReached(null)
      const { now } = await api.send<WorldClock>('POST', '/clock/advance', { ms })
      setReached(now)
    })
  return (
    <div className="ui-stack">
      <h3>Move it on</h3>
      <div className="ui-row">
        {steps.map(([name, ms]) => (
          <Button
            key={name}
            variant="default"
            disabled={isBusy}
            aria-label={`Advance ${name}`}
            onClick={() => advance(ms)}
          >
            {name}
          </Button>
        ))}
      </div>
      <form
        className="ui-form"
        onSubmit={(event) => {
          event.preventDefault()
          advance(Math.round(Number(minutes) * minuteMs))
        }}
      >
        <NumberInput
          label="Minutes"
          min={0}
          hideControls
          required
          withAsterisk={false}
          value={minutes}
          onChange={setMinutes}
        />
        <Button type="submit" variant="default" loading={isBusy}>
          Advance
        </Button>
      </form>
      <div role="status" className="ui-dimmed">
        {reached !== null && `It is ${formatTime(reached)} now; everything that was due has happened.`}
      </div>
      <ErrorState error={error} />
    </div>
  )
}
