import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { formatCount, formatTime } from '../../ui/format.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { WorldClock } from '../contract.ts'
import { eventTypes } from '../names.ts'

export interface BulkReplayProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  /** After something was replayed. */
  readonly onDone: () => void
  readonly endpoints: readonly { readonly value: string; readonly label: string }[]
}

/** Replays all undelivered ones since a moment (R87): counts them first, and asks. */
export function BulkReplay({ isOpen, onClose, onDone, endpoints }: BulkReplayProps) {
  return (
    <Dialog title="Replay what was not delivered" isOpen={isOpen} onClose={onClose}>
      {isOpen && <BulkReplayForm onClose={onClose} onDone={onDone} endpoints={endpoints} />}
    </Dialog>
  )
}

interface Outcome {
  readonly matched: number
  readonly replayed: number
}

const spans = [
  { value: '3600000', label: 'the last hour' },
  { value: '86400000', label: 'the last 24 hours' },
  { value: '604800000', label: 'the last 7 days' },
  { value: '', label: 'a moment…' },
]

function BulkReplayForm({ onClose, onDone, endpoints }: Omit<BulkReplayProps, 'isOpen'>) {
  const api = useApiClient()
  const [span, setSpan] = useState(spans[1]?.value ?? '')
  const [moment, setMoment] = useState('')
  const [type, setType] = useState('')
  const [endpoint, setEndpoint] = useState('')
  /** What was counted, and the request that it was counted for. */
  const [counted, setCounted] = useState<{ readonly request: object; readonly matched: number } | null>(null)
  const [replayed, setReplayed] = useState<number | null>(null)
  const { run, isBusy, error } = useAct()
  const changed = <T,>(set: (value: T) => void) => {
    return (value: T) => {
      set(value)
      setCounted(null)
      setReplayed(null)
    }
  }

  const count = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      const request = {
        since: span === '' ? toIso(moment) : await before(Number(span)),
        ...(type !== '' && { type }),
        ...(endpoint !== '' && { endpoint }),
      }
      const { matched } = await api.send<Outcome>('POST', '/deliveries/replay', { ...request, dryRun: true })
      setCounted({ request, matched })
    })
  }
  const replay = (request: object) =>
    void run(async () => {
      const outcome = await api.send<Outcome>('POST', '/deliveries/replay', request)
      setReplayed(outcome.replayed)
      setCounted(null)
      onDone()
    })
  /** A moment so long ago, by the clock of the world. */
  async function before(ms: number): Promise<string> {
    const { now } = await api.get<WorldClock>('/clock')
    return new Date(Date.parse(now) - ms).toISOString()
  }

  return (
    <form className="ui-stack" onSubmit={count}>
      <NativeSelect
        label="Events since"
        data={spans}
        value={span}
        onChange={(event) => changed(setSpan)(event.currentTarget.value)}
      />
      {span === '' && (
        <TextInput
          label="Moment (UTC, world time)"
          placeholder={formatTime(Date.now())}
          required
          withAsterisk={false}
          value={moment}
          onChange={(event) => changed(setMoment)(event.currentTarget.value)}
        />
      )}
      <NativeSelect
        label="Type"
        data={[{ value: '', label: 'All' }, ...eventTypes]}
        value={type}
        onChange={(event) => changed(setType)(event.currentTarget.value)}
      />
      <NativeSelect
        label="Endpoint"
        data={[{ value: '', label: 'All' }, ...endpoints]}
        value={endpoint}
        onChange={(event) => changed(setEndpoint)(event.currentTarget.value)}
      />
      <ErrorState error={error} />
      <div role="status">
        {counted !== null && `${formatCount(counted.matched)} would be replayed, each with one attempt.`}
        {replayed !== null && `${formatCount(replayed)} are being replayed.`}
      </div>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {replayed === null ? 'Cancel' : 'Close'}
        </Button>
        {counted === null || counted.matched === 0 ? (
          <Button type="submit" loading={isBusy}>
            Count them
          </Button>
        ) : (
          <Button loading={isBusy} onClick={() => replay(counted.request)}>
            Replay {formatCount(counted.matched)}
          </Button>
        )}
      </Group>
    </form>
  )
}

/** A moment as people write it, taken as UTC where it says nothing else. Throws what a person can mend. */
function toIso(text: string): string {
  const trimmed = text.trim().replace(' ', 'T')
  const date = new Date(/(?:Z|[+-]\d\d:\d\d)$/.test(trimmed) || !trimmed.includes('T') ? trimmed : `${trimmed}Z`)
  if (Number.isNaN(date.getTime()))
    throw new Error(`Expected a moment such as 2026-01-31 12:00:00, received “${text}”.`)
  return date.toISOString()
}
