import { Button, NativeSelect, NumberInput, Textarea } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Address } from '../../ui/address.tsx'
import { formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import { eventTypes } from '../names.ts'
import { parseOverrides } from './overrides.ts'

interface Triggered {
  readonly type: string
  readonly count: number
  readonly events: readonly { readonly eventId: string }[]
  readonly isRaw: boolean
}

/** Makes events of a type arise, by the shortest story that leads to them, or with members of one's own. */
export function TriggerPanel() {
  const api = useApiClient()
  const [type, setType] = useState<string>(eventTypes[0] ?? '')
  const [count, setCount] = useState<number | string>(1)
  const [rate, setRate] = useState<number | string>('')
  const [overrides, setOverrides] = useState('')
  const [triggered, setTriggered] = useState<Triggered | null>(null)
  const { run, isBusy, error } = useAct()

  const trigger = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      setTriggered(null)
      const set = parseOverrides(overrides)
      setTriggered(
        await api.send<Triggered>('POST', '/trigger', {
          type,
          count,
          ...(rate !== '' && { rate }),
          ...(Object.keys(set).length > 0 && { set }),
        }),
      )
    })
  }

  return (
    <Panel title="Trigger events" about="The shortest story that leads to an event of the type happens at once.">
      <form className="ui-stack" onSubmit={trigger}>
        <div className="ui-form">
          <NativeSelect
            label="Type of the event"
            data={[...eventTypes]}
            value={type}
            onChange={(event) => setType(event.currentTarget.value)}
          />
          <NumberInput
            label="How many"
            min={1}
            max={10_000}
            required
            withAsterisk={false}
            value={count}
            onChange={setCount}
          />
          <NumberInput
            label="Per second of world time"
            placeholder="all at once"
            min={0}
            hideControls
            value={rate}
            onChange={setRate}
          />
        </div>
        <Textarea
          label="Members to set"
          description="One on a line, such as data.amount_usd = 250000; then the event is raw: not part of the world's log."
          autosize={false}
          rows={3}
          classNames={{ input: 'ui-mono' }}
          value={overrides}
          onChange={(event) => setOverrides(event.currentTarget.value)}
        />
        <ErrorState error={error} />
        <Button type="submit" loading={isBusy} className="ui-start">
          Trigger
        </Button>
        <div role="status">{triggered !== null && <Outcome {...triggered} />}</div>
      </form>
    </Panel>
  )
}

function Outcome({ type, count, events, isRaw }: Triggered) {
  return (
    <div className="ui-row">
      {formatCount(count)} {isRaw ? 'raw ' : ''}
      {type}:
      {events.slice(0, 10).map(({ eventId }) => (
        <Address key={eventId} value={eventId} />
      ))}
      {events.length > 10 && '…'}
    </div>
  )
}
