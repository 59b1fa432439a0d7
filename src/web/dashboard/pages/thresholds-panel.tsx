import { Button, NumberInput, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Panel } from '../../ui/page.tsx'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import type { Thresholds } from '../contract.ts'

/** From when on something gives an event: trades, gains and losses, changes of risk. */
export function ThresholdsPanel() {
  const { data, error, reload } = useApi<Thresholds>('/thresholds')
  return (
    <Panel title="Thresholds">
      <ErrorState error={error} onRetry={reload} />
      {data === null ? error === null && <LoadingState what="the thresholds" /> : <ThresholdsForm thresholds={data} />}
    </Panel>
  )
}

function ThresholdsForm({ thresholds }: { readonly thresholds: Thresholds }) {
  const api = useApiClient()
  const [largeTradeUsd, setLargeTrade] = useState<number | string>(thresholds.largeTradeUsd)
  const [milestones, setMilestones] = useState(thresholds.milestonesUsd.join(', '))
  const [riskSensitivity, setRisk] = useState<number | string>(thresholds.riskSensitivity)
  const [isSaved, setSaved] = useState(false)
  const { run, isBusy, error } = useAct()
  const save = (event: SubmitEvent) => {
    event.preventDefault()
    setSaved(false)
    void run(async () => {
      const milestonesUsd = toNumbers(milestones)
      await api.send('POST', '/world/thresholds', { largeTradeUsd, milestonesUsd, riskSensitivity })
      setSaved(true)
    })
  }
  return (
    <form className="ui-stack" onSubmit={save}>
      <div className="ui-form ui-form-top">
        <NumberInput
          className="ui-grow"
          label="Large trade in USD"
          description="wallet.large_trade from here on"
          min={0}
          hideControls
          required
          withAsterisk={false}
          value={largeTradeUsd}
          onChange={setLargeTrade}
        />
        <TextInput
          className="ui-grow"
          label="Milestones in USD"
          description="wallet.pnl_milestone at each, gained or lost"
          required
          withAsterisk={false}
          value={milestones}
          onChange={(event) => setMilestones(event.currentTarget.value)}
        />
        <NumberInput
          className="ui-grow"
          label="Risk sensitivity"
          description="token.risk_change beyond so many points"
          min={0}
          max={100}
          hideControls
          required
          withAsterisk={false}
          value={riskSensitivity}
          onChange={setRisk}
        />
      </div>
      <ErrorState error={error} />
      <div className="ui-row">
        <Button type="submit" loading={isBusy}>
          Save
        </Button>
        <span role="status">{isSaved && 'Saved.'}</span>
      </div>
    </form>
  )
}

/** Throws what a person can mend. */
function toNumbers(text: string): readonly number[] {
  return text
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map((part) => {
      const number = Number(part)
      if (Number.isFinite(number)) return number
      throw new Error(`Expected amounts such as 1000, 5000, received “${part}”.`)
    })
}
