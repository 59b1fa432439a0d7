import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { toVisible } from '../../ui/plain-text.tsx'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { EventDetailJson, RunJson } from '../contract.ts'
import { useRole } from './role.ts'

/** Has the event handled again: by all handlers that take it, or by one of those that had it. Nothing for a viewer. */
export function ReplayEvent({ event, onDone }: { readonly event: EventDetailJson; readonly onDone: () => void }) {
  const api = useApiClient()
  const [handler, setHandler] = useState('')
  const [said, setSaid] = useState('')
  if (useRole() !== 'operator' || event.pruned) return null
  // A sink is given what a handler leaves it, so it is no choice here.
  const handlers = [...new Set(event.runs.filter(({ item }) => item === null).map((run) => run.handler))]
  const replay = async () => {
    if (handler === '') await api.send('POST', `/events/${encodeURIComponent(event.id)}/replay`)
    else await api.send('POST', '/replays', { ids: [event.id], handler })
    setSaid('The replay has begun.')
    onDone()
  }
  return (
    <>
      <span role="status" className="ui-good">
        {said}
      </span>
      <ConfirmButton
        label="Replay"
        title="Have this event handled again?"
        verb="Replay"
        isDangerous={false}
        onConfirm={replay}
      >
        <div className="ui-stack">
          <NativeSelect
            label="By"
            data={[
              { value: '', label: 'All handlers that take it' },
              ...handlers.map((name) => ({ value: name, label: toVisible(name.slice(0, 100)) })),
            ]}
            value={handler}
            onChange={(change) => setHandler(change.currentTarget.value)}
          />
          <p>
            It runs behind all live work, with the same idempotency key: whoever knows repeats by it will know this one.
          </p>
        </div>
      </ConfirmButton>
    </>
  )
}

/** Requeues or drops a run that is a dead letter. Nothing for a viewer, or where it is none. */
export function DeadRunActs({ run, onDone }: { readonly run: RunJson; readonly onDone: () => void }) {
  const api = useApiClient()
  const [reason, setReason] = useState('')
  const { run: act, isBusy, error } = useAct()
  if (useRole() !== 'operator' || (run.state !== 'dead' && run.state !== 'held')) return null
  const name = toVisible(run.handler.slice(0, 100))
  const requeue = () =>
    void act(async () => {
      await api.send('POST', '/dead-letters/requeue', { run_ids: [run.run_id] })
      onDone()
    })
  const drop = async () => {
    if (reason.trim() === '') throw new Error('Say why: the reason is kept in the audit.')
    await api.send('POST', '/dead-letters/drop', { run_ids: [run.run_id], reason: reason.trim() })
    onDone()
  }
  return (
    <>
      <Button size="xs" variant="default" loading={isBusy} aria-label={`Requeue ${name}`} onClick={requeue}>
        Requeue
      </Button>
      <ConfirmButton
        label="Drop"
        name={`Drop ${name}`}
        title={`Drop the dead letter of ${name}?`}
        verb="Drop"
        onConfirm={drop}
      >
        <div className="ui-stack">
          <p>It will not be tried again, and no longer holds up others.</p>
          <TextInput
            label="Reason"
            description="It is kept in the audit."
            maxLength={500}
            required
            value={reason}
            onChange={(change) => setReason(change.currentTarget.value)}
          />
        </div>
      </ConfirmButton>
      <ErrorState error={error} />
    </>
  )
}
