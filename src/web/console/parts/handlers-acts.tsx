import { Button, Group, NumberInput, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { formatCount } from '../../ui/format.ts'
import { shortText } from '../../ui/long-text.tsx'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { HandlerJson } from '../contract.ts'

export interface HandlerActProps {
  readonly handler: HandlerJson
  readonly onDone: () => void
}

const mostAtOnce = 10_000

const pathOf = (name: string) => `/handlers/${encodeURIComponent(name)}`

/** Runs that nobody works on. */
export function openRunsOf({ waiting, ready, suspect }: HandlerJson): number {
  return waiting + ready + suspect
}

/** Pauses a handler, or has it go on. */
export function PauseAct({ handler: { name, paused }, onDone }: HandlerActProps) {
  const api = useApiClient()
  const shown = shortText(name)
  return (
    <ConfirmButton
      label={paused ? 'Resume' : 'Pause'}
      name={`${paused ? 'Resume' : 'Pause'} ${shown}`}
      title={paused ? `Have ${shown} go on?` : `Pause ${shown}?`}
      verb={paused ? 'Resume' : 'Pause'}
      isDangerous={!paused}
      onConfirm={async () => {
        await api.send('POST', `${pathOf(name)}/${paused ? 'resume' : 'pause'}`)
        onDone()
      }}
    >
      {paused
        ? 'Its runs are handed out again, the oldest first.'
        : 'No more of its runs are handed out, also after a restart. Events go on being accepted and stored, and its runs wait.'}
    </ConfirmButton>
  )
}

/** Pauses all handlers together, or takes that back. */
export function PauseAllAct({ paused, onDone }: { readonly paused: boolean; readonly onDone: () => void }) {
  const api = useApiClient()
  return (
    <ConfirmButton
      size="sm"
      label={paused ? 'Resume all' : 'Pause all'}
      title={paused ? 'Have the handlers go on?' : 'Pause all handlers?'}
      verb={paused ? 'Resume all' : 'Pause all'}
      isDangerous={!paused}
      onConfirm={async () => {
        await api.send('POST', paused ? '/resume' : '/pause')
        onDone()
      }}
    >
      {paused
        ? 'Runs are handed out again, the oldest first. A handler that is paused by itself stays so.'
        : 'No run of any handler is handed out, also after a restart. Events go on being accepted and stored.'}
    </ConfirmButton>
  )
}

/** Sets how many runs may run at once, or takes that back. */
export function ConcurrencyAct({ handler, onDone }: HandlerActProps) {
  const { name, settings, set_concurrency: set } = handler
  const api = useApiClient()
  const [isOpen, setOpen] = useState(false)
  const [wanted, setWanted] = useState<number | string>('')
  const [mistake, setMistake] = useState<string | null>(null)
  const { run, isBusy, error, clear } = useAct()
  const open = () => {
    clear()
    setMistake(null)
    setWanted(set ?? settings?.concurrency ?? '')
    setOpen(true)
  }
  const send = (concurrency: number | null) =>
    void run(async () => {
      await api.send('PATCH', pathOf(name), { concurrency })
      setOpen(false)
      onDone()
    })
  const save = (event: SubmitEvent) => {
    event.preventDefault()
    const concurrency = Number(wanted)
    const isFit = Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= mostAtOnce
    setMistake(isFit ? null : `Give a whole number from 1 to ${formatCount(mostAtOnce)}.`)
    if (isFit) send(concurrency)
  }
  const own = settings === null ? 'As it says itself' : `As it says itself: ${settings.own_concurrency}`
  return (
    <>
      <Button size="xs" variant="default" aria-label={`Concurrency of ${shortText(name)}`} onClick={open}>
        Concurrency
      </Button>
      <Dialog title={`Concurrency of ${shortText(name)}`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form className="ui-stack" onSubmit={save}>
          <p>It holds at once, and also after a restart. Runs that are at work are not stopped.</p>
          <NumberInput
            label="Runs at once"
            min={1}
            max={mostAtOnce}
            allowDecimal={false}
            // What is out of range is refused, and not taken for another number.
            clampBehavior="none"
            hideControls
            required
            withAsterisk={false}
            data-autofocus
            error={mistake}
            value={wanted}
            onChange={setWanted}
          />
          <ErrorState error={error} />
          <Group justify="flex-end">
            {set !== null && (
              <Button variant="default" disabled={isBusy} onClick={() => send(null)}>
                {own}
              </Button>
            )}
            <Button type="submit" loading={isBusy} disabled={wanted === ''}>
              Set it
            </Button>
          </Group>
        </form>
      </Dialog>
    </>
  )
}

/** Ends the runs that wait for a handler that is gone, with a reason that is kept. */
export function DropRunsAct({ handler, onDone }: HandlerActProps) {
  const api = useApiClient()
  const [isOpen, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const { run, isBusy, error, clear } = useAct()
  const shown = shortText(handler.name)
  const count = openRunsOf(handler)
  const drop = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      await api.send('POST', `${pathOf(handler.name)}/drop`, { reason: reason.trim() })
      setOpen(false)
      onDone()
    })
  }
  return (
    <>
      <Button
        size="xs"
        variant="light"
        color="red"
        aria-label={`Drop its runs: ${shown}`}
        onClick={() => {
          clear()
          setOpen(true)
        }}
      >
        Drop its runs
      </Button>
      <Dialog title={`Drop the runs of ${shown}?`} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form className="ui-stack" onSubmit={drop}>
          <p>
            {formatCount(count)} {count === 1 ? 'run that waits is' : 'runs that wait are'} ended for good and not run.
            The events stay stored, and can be replayed.
          </p>
          <TextInput
            label="Reason"
            description="kept in the audit"
            required
            withAsterisk={false}
            maxLength={500}
            data-autofocus
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <ErrorState error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setOpen(false)}>
              Cancel
            </Button>
            <Button type="submit" color="red" loading={isBusy} disabled={reason.trim() === ''}>
              Drop them
            </Button>
          </Group>
        </form>
      </Dialog>
    </>
  )
}
