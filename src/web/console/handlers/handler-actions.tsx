import { Action } from '../../ui/action.tsx'
import { toNumber } from '../../ui/form.tsx'
import { formatCounted } from '../../ui/format.ts'
import { shortText } from '../../ui/text.tsx'
import type { HandlerJson, TriedJson } from '../../../admin/handlers.ts'
import { useIsOperator } from '../role.ts'
import { pendingOf } from './handler.ts'

const pathOf = (name: string) => `/handlers/${encodeURIComponent(name)}`

interface HandlerProps {
  readonly handler: HandlerJson
}

/** Pauses or resumes one handler. */
export function PauseAction({ handler: { name, paused, shut } }: HandlerProps) {
  const isBroken = paused && shut?.reason === 'breaker'
  return <Pause verb={paused ? 'Resume' : 'Pause'} of={shortText(name)} path={pathOf(name)} isBroken={isBroken} />
}

/** Pauses or resumes all handlers together. Handlers that were paused one by one stay paused. */
export function PauseAllAction({ isPaused }: { readonly isPaused: boolean }) {
  const verb = isPaused ? 'Resume' : 'Pause'
  return <Pause verb={verb} label={`${verb} all`} of="all handlers" path="" />
}

interface PauseProps {
  readonly verb: 'Pause' | 'Resume'
  readonly label?: string
  readonly of: string
  readonly path: string
  /** True for a sink whose breaker is open. */
  readonly isBroken?: boolean
}

function Pause({ verb, label = verb, of, path, isBroken = false }: PauseProps) {
  return (
    <Action
      label={label}
      name={`${verb} ${of}`}
      title={`${verb} ${of}?`}
      run={async ({ api }) => {
        await api.send('POST', `${path}/${verb.toLowerCase()}`)
        if (isBroken)
          return 'Resumed. The breaker is still open: the next item is sent when its wait is over, or with Try now.'
      }}
    >
      {verb === 'Resume'
        ? 'Runs start again, the oldest first.'
        : 'No more runs start, also after a restart. Events are still accepted and stored.'}
    </Action>
  )
}

/** Drops the open runs of a handler that is gone. */
export function DropRunsAction({ handler }: HandlerProps) {
  const name = shortText(handler.name)
  const runs = formatCounted(pendingOf(handler), 'pending run')
  return (
    <Action
      label={`Drop ${runs}`}
      name={`Drop ${runs} of ${name}`}
      title={`Drop the runs of ${name}?`}
      isDangerous
      needsReason
      run={async ({ api, reason }) => void (await api.send('POST', `${pathOf(handler.name)}/drop`, { reason }))}
    >
      They end for good. The events stay stored and can be replayed.
    </Action>
  )
}

/** Sets the number of runs at once. An empty field restores the handler's own. */
export function ConcurrencyAction({ handler: { name, settings, set_concurrency: set } }: HandlerProps) {
  return (
    <Action
      label="Set concurrency"
      name={`Set concurrency of ${shortText(name)}`}
      title={`Concurrency of ${shortText(name)}`}
      fields={[
        {
          name: 'concurrency',
          label: 'Runs at once',
          description: `Takes effect at once and survives a restart. Empty: ${settings?.own_concurrency ?? 'its own'}`,
          initial: String(set ?? settings?.concurrency ?? ''),
          isOptional: true,
        },
      ]}
      run={async ({ api, value }) => {
        const text = value('concurrency')
        await api.send('PATCH', pathOf(name), { concurrency: text === '' ? null : toNumber(text) })
      }}
    />
  )
}

const resultWords: Readonly<Record<TriedJson['result'], string>> = {
  sent: 'sent one item, breaker closed',
  failed: 'failed',
  idle: 'had nothing to send',
  closed: 'breaker was not open',
  unanswered: 'did not answer in time',
}

/** Sends one item of a sink whose breaker is open. */
export function TryNow({ handler }: { readonly handler: string }) {
  const name = shortText(handler)
  if (!useIsOperator()) return null
  return (
    <Action
      label="Try now"
      name={`Try now: ${name}`}
      title={`Try ${name}?`}
      isPrimary
      run={async ({ api }) => {
        const { result, error } = await api.send<TriedJson>('POST', `${pathOf(handler)}/try`)
        return (
          <span className={result === 'failed' ? 'ui-text-bad' : undefined}>
            {name}: {resultWords[result]}
            {error !== null && `: ${shortText(error, 300)}`}
          </span>
        )
      }}
    >
      This replica sends one item. A success closes its breaker.
    </Action>
  )
}
