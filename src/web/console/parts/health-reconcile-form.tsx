import { Button, TextInput } from '@mantine/core'
import { useEffect, useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { useLocation } from '../../ui/hash-router.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { GapJson, ReconcileJson } from '../contract.ts'

export interface ReconcileFormProps {
  readonly gaps: readonly GapJson[]
  readonly onStarted: (reconcile: ReconcileJson) => void
}

/** Asks for a time: that of the address, or else of the last time out of service. */
export function ReconcileForm({ gaps, onStarted }: ReconcileFormProps) {
  const api = useApiClient()
  const { query } = useLocation()
  const last = spanOf(gaps)
  const first = toField(query.get('from') ?? last?.from, 'down')
  const end = toField(query.get('to') ?? last?.to, 'up')
  const [from, setFrom] = useState(first)
  const [to, setTo] = useState(end)
  const { run, isBusy, error } = useAct()
  useEffect(() => {
    setFrom(first)
    setTo(end)
  }, [first, end])
  const start = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      onStarted(await api.send<ReconcileJson>('POST', '/reconcile', { from: toMoment(from), to: toMoment(to) }))
    })
  }
  return (
    <form className="ui-stack" onSubmit={start} aria-label="Reconcile a time">
      <div className="ui-form">
        <TextInput
          type="datetime-local"
          step={1}
          label="From (UTC)"
          required
          withAsterisk={false}
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          step={1}
          label="To (UTC)"
          required
          withAsterisk={false}
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
        <Button type="submit" loading={isBusy}>
          Look for what is missing
        </Button>
      </div>
      <ErrorState error={error} />
    </form>
  )
}

/** What was lost in the last time out of service, or else all of that time. */
function spanOf([newest]: readonly GapJson[]): { readonly from: string; readonly to: string } | null {
  return newest === undefined ? null : (newest.lost ?? newest)
}

/** A moment as a field for it has it, to the second; empty for what is none. */
export function toField(moment: string | null | undefined, rounded: 'down' | 'up'): string {
  const at = Date.parse(moment ?? '')
  if (Number.isNaN(at)) return ''
  const seconds = rounded === 'down' ? Math.floor(at / 1_000) : Math.ceil(at / 1_000)
  return new Date(seconds * 1_000).toISOString().slice(0, 19)
}

/** What a field for a moment has, as the API takes it; what is none stays as it is, for the API to refuse. */
export function toMoment(field: string): string {
  const at = Date.parse(`${field}Z`)
  return Number.isNaN(at) ? field : new Date(at).toISOString()
}
