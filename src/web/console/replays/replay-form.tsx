import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useAction, useApi, useGet } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { eventTypes, networks } from '../../ui/names.ts'
import { Failure } from '../../ui/states.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HandlerListJson, ReplayCountJson, ReplayJson } from '../contract.ts'
import { eventStatuses } from '../events/runs.tsx'
import { toReplayRequest, type ReplayFields } from './replay-request.ts'

export interface ReplayFormProps {
  readonly initial: Readonly<Record<string, string>>
  readonly onClose: () => void
}

interface Counted extends ReplayCountJson {
  readonly request: object
}

const fieldsOf = (initial: ReplayFormProps['initial']): ReplayFields => ({
  type: initial['type'] ?? '',
  network: initial['network'] ?? '',
  address: initial['address'] ?? '',
  status: initial['status'] ?? '',
  handler: initial['handler'] ?? '',
  from: initial['from'] ?? '',
  to: initial['to'] ?? '',
  perSecond: '',
  isNewKeys: false,
})

/** Selects events, counts them, and starts a replay of the counted events. */
export function ReplayForm({ initial, onClose }: ReplayFormProps) {
  const api = useApi()
  const handlers = useGet<HandlerListJson>('/handlers').data?.data ?? []
  const [fields, setFields] = useState<ReplayFields>(() => fieldsOf(initial))
  const [counted, setCounted] = useState<Counted | null>(null)
  const start = useAction((_api, request: object) => api.send<ReplayJson>('POST', '/replays', request))
  const count = useAction(async (_api, given: ReplayFields) => {
    const request = toReplayRequest(given)
    return { ...(await api.send<ReplayCountJson>('POST', '/replays', { ...request, dryRun: true })), request }
  })
  const change = (part: Partial<ReplayFields>) => {
    setFields((before) => ({ ...before, ...part }))
    setCounted(null)
    count.reset()
  }
  const field = (name: Exclude<keyof ReplayFields, 'isNewKeys'>) => ({
    value: fields[name],
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      change({ [name]: event.currentTarget.value }),
  })
  const all = (label: string, values: readonly string[]) => [
    { value: '', label },
    ...values.map((value) => ({ value, label: shortText(value) })),
  ]
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (counted !== null && counted.events > 0) start.mutate(counted.request, { onSuccess: onClose })
    else count.mutate(fields, { onSuccess: setCounted })
  }
  return (
    <form className="ui-stack" onSubmit={submit}>
      <div className="console-form">
        <TextInput
          label="Type"
          placeholder="All"
          list="replay-types"
          maxLength={255}
          data-autofocus
          {...field('type')}
        />
        <datalist id="replay-types">
          {eventTypes.map((type) => (
            <option key={type} value={type} />
          ))}
        </datalist>
        <NativeSelect label="Network" data={all('All', networks)} {...field('network')} />
        <TextInput label="Address" placeholder="All" maxLength={255} {...field('address')} />
        <NativeSelect label="Status" data={all('All', eventStatuses)} {...field('status')} />
        <TextInput label="Received from (UTC)" placeholder="2026-01-31 12:00" maxLength={40} {...field('from')} />
        <TextInput label="Received before (UTC)" placeholder="2026-01-31 14:00" maxLength={40} {...field('to')} />
        <NativeSelect
          label="Handler"
          data={all(
            'All that take the event',
            handlers.map(({ name }) => name),
          )}
          {...field('handler')}
        />
        <TextInput
          label="Runs per second"
          placeholder="Unlimited"
          inputMode="decimal"
          maxLength={10}
          {...field('perSecond')}
        />
      </div>
      <Checkbox
        size="xs"
        label="New idempotency keys"
        description="Receivers repeat their side effects, such as messages"
        checked={fields.isNewKeys}
        onChange={(event) => change({ isNewKeys: event.currentTarget.checked })}
      />
      <p className="ui-dim">Live events always go first.</p>
      <Failure error={count.error ?? start.error} />
      <p role="status">{counted !== null && textOf(counted)}</p>
      <div className="ui-dialog-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={count.isPending || start.isPending}>
          {counted !== null && counted.events > 0 ? `Replay ${formatCount(counted.events)}` : 'Count'}
        </Button>
      </div>
    </form>
  )
}

function textOf({ events, skipped }: Counted): string {
  const found =
    events === 0 ? 'No event matches.' : `${formatCount(events)} ${events === 1 ? 'event matches' : 'events match'}.`
  return skipped === 0 ? found : `${found} ${formatCount(skipped)} more have no body and are skipped.`
}
