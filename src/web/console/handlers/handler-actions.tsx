import { Button, NumberInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { Action, Dialog } from '../../ui/action.tsx'
import { useAction } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { Failure } from '../../ui/states.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import type { HandlerJson, TriedJson } from '../contract.ts'
import { useIsOperator } from '../role.ts'
import { pendingOf } from './handler.ts'

const pathOf = (name: string) => `/handlers/${encodeURIComponent(name)}`
const maxConcurrency = 10_000

/** Pauses or resumes one handler. */
export function PauseAction({ handler: { name, paused, shut } }: { readonly handler: HandlerJson }) {
  const shown = shortText(name)
  const verb = paused ? 'Resume' : 'Pause'
  return (
    <Action
      label={verb}
      name={`${verb} ${shown}`}
      title={`${verb} ${shown}?`}
      run={async ({ api }) => {
        await api.send('POST', `${pathOf(name)}/${verb.toLowerCase()}`)
        if (paused && shut?.reason === 'breaker')
          return 'Resumed. The breaker is still open: the next item is sent when its wait is over, or with Try now.'
      }}
    >
      {paused
        ? 'Its runs start again, the oldest first.'
        : 'No more of its runs start, also after a restart. Events are still accepted and stored.'}
    </Action>
  )
}

/** Pauses or resumes all handlers together. */
export function PauseAllAction({ isPaused }: { readonly isPaused: boolean }) {
  const verb = isPaused ? 'Resume all' : 'Pause all'
  return (
    <Action
      label={verb}
      title={`${verb} handlers?`}
      run={async ({ api }) => void (await api.send('POST', isPaused ? '/resume' : '/pause'))}
    >
      {isPaused
        ? 'Runs start again, the oldest first. Handlers that were paused one by one stay paused.'
        : 'No run of any handler starts, also after a restart. Events are still accepted and stored.'}
    </Action>
  )
}

/** Drops the open runs of a handler that is gone. */
export function DropRunsAction({ handler }: { readonly handler: HandlerJson }) {
  const shown = shortText(handler.name)
  const count = pendingOf(handler)
  return (
    <Action
      label="Drop runs"
      name={`Drop runs of ${shown}`}
      title={`Drop the runs of ${shown}?`}
      isDangerous
      needsReason
      run={async ({ api, reason }) => void (await api.send('POST', `${pathOf(handler.name)}/drop`, { reason }))}
    >
      {formatCount(count)} pending {count === 1 ? 'run ends' : 'runs end'} for good. The events stay stored and can be
      replayed.
    </Action>
  )
}

/** Sets the number of runs at once, or restores the handler's own. */
export function ConcurrencyAction({
  handler: { name, settings, set_concurrency: set },
}: {
  readonly handler: HandlerJson
}) {
  const [isOpen, setOpen] = useState(false)
  const [wanted, setWanted] = useState<number | string>('')
  const change = useAction((api, concurrency: number | null) => api.send('PATCH', pathOf(name), { concurrency }))
  const number = Number(wanted)
  const isValid = wanted !== '' && Number.isInteger(number) && number >= 1 && number <= maxConcurrency
  const close = () => setOpen(false)
  const send = (concurrency: number | null) => change.mutate(concurrency, { onSuccess: close })
  const open = () => {
    change.reset()
    setWanted(set ?? settings?.concurrency ?? '')
    setOpen(true)
  }
  return (
    <>
      <Button variant="default" aria-label={`Concurrency of ${shortText(name)}`} onClick={open}>
        Concurrency
      </Button>
      <Dialog title={`Concurrency of ${shortText(name)}`} isOpen={isOpen} onClose={close}>
        <form
          className="ui-stack"
          onSubmit={(event: SubmitEvent) => {
            event.preventDefault()
            if (isValid) send(number)
          }}
        >
          <NumberInput
            label="Runs at once"
            description="Takes effect at once and survives a restart"
            min={1}
            max={maxConcurrency}
            allowDecimal={false}
            // Out of range is an error, not another number.
            clampBehavior="none"
            hideControls
            data-autofocus
            error={wanted === '' || isValid ? null : `Enter a whole number from 1 to ${formatCount(maxConcurrency)}.`}
            value={wanted}
            onChange={setWanted}
          />
          <Failure error={change.error} />
          <div className="ui-dialog-end">
            {set !== null && (
              <Button variant="default" onClick={() => send(null)}>
                Reset{settings !== null && ` to ${settings.own_concurrency}`}
              </Button>
            )}
            <Button type="submit" loading={change.isPending} disabled={!isValid}>
              Set
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  )
}

const resultWords: Readonly<Record<TriedJson['results'][number]['result'], string>> = {
  sent: 'sent one item, breaker closed',
  failed: 'failed',
  idle: 'had nothing to send',
  closed: 'breaker was not open',
  unanswered: 'did not answer in time',
}

/** Has every replica send one item to a sink whose breaker is open, and shows each result. */
export function TryNow({ handler }: { readonly handler: string }) {
  const attempt = useAction((api) => api.send<TriedJson>('POST', `${pathOf(handler)}/try`))
  if (!useIsOperator()) return null
  return (
    <>
      <Button
        loading={attempt.isPending}
        aria-label={`Try now: ${shortText(handler)}`}
        onClick={() => attempt.mutate(undefined)}
      >
        Try now
      </Button>
      <Dialog
        title={`Attempt of ${shortText(handler)}`}
        isOpen={attempt.data !== undefined || attempt.error !== null}
        onClose={attempt.reset}
      >
        <Failure error={attempt.error} />
        <ul className="ui-list-plain" role="status">
          {attempt.data?.results.map(({ replica, result, error }) => (
            <li key={replica}>
              <b>{shortText(replica)}</b>:{' '}
              <span className={result === 'failed' ? 'ui-text-bad' : undefined}>{resultWords[result]}</span>
              {error !== null && (
                <>
                  : <Line value={error} max={300} />
                </>
              )}
            </li>
          ))}
        </ul>
      </Dialog>
    </>
  )
}
