import { Button, Checkbox, Group, NativeSelect, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { formatCount } from '../../ui/format.ts'
import { eventTypes, networks } from '../../ui/names.ts'
import { toVisible } from '../../ui/plain-text.tsx'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import type { HandlerListJson, ReplayCountJson, ReplayJson } from '../contract.ts'
import { eventStatuses } from './bulk-names.ts'
import { toReplayRequest, type ReplayFields } from './replays-request.ts'
import { filterInWords } from './replays-words.ts'

export interface ReplayFormProps {
  /** What is filled in already. */
  readonly initial: Partial<ReplayFields>
  readonly onClose: () => void
  readonly onStarted: (replay: ReplayJson) => void
}

interface Counted extends ReplayCountJson {
  readonly request: Readonly<Record<string, unknown>>
}

const empty: ReplayFields = {
  type: '',
  network: '',
  address: '',
  status: '',
  from: '',
  to: '',
  handler: '',
  perSecond: '',
  isNewKeys: false,
}

/** Chooses which events are run again, counts them, and starts it once somebody has seen how many they are. */
export function ReplayForm({ initial, onClose, onStarted }: ReplayFormProps) {
  const api = useApiClient()
  const handlers = useApi<HandlerListJson>('/handlers').data?.data ?? []
  const [fields, setFields] = useState<ReplayFields>({ ...empty, ...initial })
  const [counted, setCounted] = useState<Counted | null>(null)
  const { run, isBusy, error, clear } = useAct()
  const change = (part: Partial<ReplayFields>) => {
    setFields((before) => ({ ...before, ...part }))
    setCounted(null)
    clear()
  }
  const text = (name: Exclude<keyof ReplayFields, 'isNewKeys'>) => ({
    value: fields[name],
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      change({ [name]: event.currentTarget.value }),
  })

  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      if (counted !== null && counted.events > 0) {
        onStarted(await api.send<ReplayJson>('POST', '/replays', counted.request))
        return
      }
      const request = toReplayRequest(fields)
      setCounted({ ...(await api.send<ReplayCountJson>('POST', '/replays', { ...request, dryRun: true })), request })
    })
  }

  return (
    <form className="ui-stack" onSubmit={submit}>
      <TextInput label="Type" placeholder="All" list="replay-types" maxLength={255} data-autofocus {...text('type')} />
      <datalist id="replay-types">
        {eventTypes.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <NativeSelect label="Network" data={[{ value: '', label: 'All' }, ...networks]} {...text('network')} />
      <TextInput label="Address" placeholder="All" maxLength={255} {...text('address')} />
      <NativeSelect label="Status" data={[{ value: '', label: 'All' }, ...eventStatuses]} {...text('status')} />
      <NativeSelect
        label="Handler"
        description="Of these events only those that it takes are run, and by it alone."
        data={[
          { value: '', label: 'All that take the event' },
          ...handlers.map(({ name }) => ({ value: name, label: toVisible(name) })),
        ]}
        {...text('handler')}
      />
      <TextInput label="Received from (UTC)" placeholder="2026-01-31 12:00" maxLength={40} {...text('from')} />
      <TextInput label="Received before (UTC)" placeholder="2026-01-31 14:00" maxLength={40} {...text('to')} />
      <TextInput
        label="Runs per second"
        description="Live events go first in any case."
        placeholder="As fast as they are worked off"
        inputMode="decimal"
        maxLength={10}
        {...text('perSecond')}
      />
      <Checkbox
        label="With new idempotency keys"
        description="Who knows repeats by their keys does the work once more: a payment, a message."
        checked={fields.isNewKeys}
        onChange={(event) => change({ isNewKeys: event.currentTarget.checked })}
      />
      <ErrorState error={error} />
      <div role="status" className="bulk-about">
        {counted !== null && inWords(counted)}
      </div>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={isBusy}>
          {counted !== null && counted.events > 0 ? `Replay ${formatCount(counted.events)}` : 'Count them'}
        </Button>
      </Group>
    </form>
  )
}

function inWords({ events, skipped, request }: Counted): string {
  const gone = skipped > 0 ? ` ${formatCount(skipped)} more have no body any more and are left out.` : ''
  const one = events === 1
  if (events === 0) return `There are no ${filterInWords(request)}.${gone}`
  return `${formatCount(events)} ${one ? 'event' : 'events'} would be run again: ${filterInWords(request)}.${gone}`
}
