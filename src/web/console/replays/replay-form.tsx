import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useAction, useGet } from '../../ui/api.tsx'
import { formatCount, formatCounted } from '../../ui/format.ts'
import { Failure } from '../../ui/states.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HandlerListJson } from '../../../admin/handlers.ts'
import type { ReplayCountJson, ReplayJson } from '../../../admin/replays.ts'
import { filterOf, formatFilter, parseFilter, toQuery } from '../events/filter.ts'

export interface ReplayFormProps {
  /** Parameters of the address with a filter of events. */
  readonly initial: Readonly<Record<string, string>>
  readonly onClose: () => void
}

/** Selects events like the filter line of Events, counts them, and replays the counted events. */
export function ReplayForm({ initial, onClose }: ReplayFormProps) {
  const { handler: initialHandler = '', ...initialFilter } = filterOf(initial)
  const handlers = useGet<HandlerListJson>('/handlers').data?.data ?? []
  const [filter, setFilter] = useState(formatFilter(initialFilter))
  const [handler, setHandler] = useState(initialHandler)
  const [rate, setRate] = useState('')
  const [isNewKeys, setNewKeys] = useState(false)
  const count = useAction(async (api, request: object) => ({
    ...(await api.send<ReplayCountJson>('POST', '/replays', { ...request, dryRun: true })),
    request,
  }))
  const start = useAction((api, request: object) => api.send<ReplayJson>('POST', '/replays', request))
  const counted = count.data
  const changed =
    <T,>(set: (value: T) => void) =>
    (event: { readonly currentTarget: { readonly value: T } }) => {
      set(event.currentTarget.value)
      count.reset()
    }
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (counted !== undefined && counted.events > 0) start.mutate(counted.request, { onSuccess: onClose })
    else
      count.mutate({
        ...toQuery(parseFilter(filter), Date.now()),
        ...(handler !== '' && { handler }),
        ...(rate !== '' && { per_second: Number(rate) }),
        ...(isNewKeys && { new_keys: true }),
      })
  }
  return (
    <form className="ui-stack" onSubmit={submit}>
      <TextInput
        label="Filter"
        placeholder="type: network: status: address: from:2d to:1h"
        maxLength={500}
        data-autofocus
        value={filter}
        onChange={changed(setFilter)}
      />
      <NativeSelect
        label="Handler"
        data={[
          { value: '', label: 'All handlers' },
          ...handlers.map(({ name }) => ({ value: name, label: shortText(name) })),
        ]}
        value={handler}
        onChange={changed(setHandler)}
      />
      <TextInput
        label="Runs per second"
        placeholder="Unlimited"
        type="number"
        min={0}
        step="any"
        value={rate}
        onChange={changed(setRate)}
      />
      <Checkbox
        size="xs"
        label="New idempotency keys"
        description="Receivers repeat their side effects, such as messages"
        checked={isNewKeys}
        onChange={(event) => {
          setNewKeys(event.currentTarget.checked)
          count.reset()
        }}
      />
      <p className="ui-dim">Live events always go first.</p>
      <Failure error={count.error ?? start.error} />
      <p role="status">{counted !== undefined && textOf(counted)}</p>
      <div className="ui-dialog-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={count.isPending || start.isPending}>
          {counted !== undefined && counted.events > 0 ? `Replay ${formatCounted(counted.events, 'event')}` : 'Count'}
        </Button>
      </div>
    </form>
  )
}

function textOf({ events, skipped }: ReplayCountJson): string {
  const matches = formatCounted(events, 'event matches', 'events match')
  return skipped === 0 ? `${matches}.` : `${matches}. ${formatCount(skipped)} more have no body and are skipped.`
}
