import { useState } from 'react'
import { useGet } from '../../ui/api.tsx'
import { filledIn, Form, toNumber, type Field, type ValueOf } from '../../ui/form.tsx'
import { formatCount, formatCounted } from '../../ui/format.ts'
import { shortText } from '../../ui/text.tsx'
import type { HandlerListJson } from '../../../admin/handlers.ts'
import type { ReplayCountJson } from '../../../admin/replays.ts'
import { filterOf, formatFilter, parseFilter, toQuery } from '../events/filter.ts'

export interface ReplayFormProps {
  /** Parameters of the address with a filter of events. */
  readonly initial: Readonly<Record<string, string>>
  readonly onClose: () => void
}

/** Selects events like the filter line of Events, counts them, and replays the counted events. */
export function ReplayForm({ initial, onClose }: ReplayFormProps) {
  const { handler = '', ...filter } = filterOf(initial)
  const handlers = useGet<HandlerListJson>('/handlers').data?.data ?? []
  const [entered, setEntered] = useState<ValueOf>(
    () => (name: string) => ({ filter: formatFilter(filter), handler })[name] ?? '',
  )
  const [counted, setCounted] = useState<(ReplayCountJson & { readonly request: object }) | null>(null)
  if (counted !== null)
    return (
      <>
        <p role="status">{textOf(counted)}</p>
        <Form
          submit={`Replay ${formatCounted(counted.events, 'event')}`}
          isBlocked={counted.events === 0}
          run={async ({ api }) => void (await api.send('POST', '/replays', counted.request))}
          onDone={onClose}
          onCancel={() => setCounted(null)}
        />
      </>
    )
  const names = handlers.map(({ name }) => ({ value: name, label: shortText(name) }))
  const fields: readonly Field[] = [
    { name: 'filter', label: 'Filter', placeholder: 'type: network: status: address: from:2d to:1h' },
    { name: 'handler', label: 'Handler', choices: [{ value: '', label: 'All handlers' }, ...names] },
    { name: 'rate', label: 'Runs per second', placeholder: 'Unlimited' },
    {
      name: 'options',
      label: 'Options',
      isMany: true,
      choices: [
        {
          value: 'new_keys',
          label: 'New idempotency keys',
          description: 'Receivers repeat their side effects, such as messages',
        },
      ],
    },
  ]
  return (
    <>
      <p className="ui-dim">Live events always go first.</p>
      <Form
        submit="Count"
        fields={fields.map((field) => ({ ...field, initial: entered(field.name), isOptional: true }))}
        run={async ({ api, value }) => {
          const request = toRequest(value)
          const count = await api.send<ReplayCountJson>('POST', '/replays', { ...request, dryRun: true })
          setEntered(() => value)
          setCounted({ ...count, request })
        }}
        onCancel={onClose}
      />
    </>
  )
}

function toRequest(value: ValueOf): object {
  const { q, group, ...filter } = parseFilter(value('filter'))
  if (q !== undefined || group !== undefined) throw new Error('A replay selects by fields, not by words of the body')
  return {
    ...toQuery(filter, Date.now()),
    ...filledIn(value, 'handler'),
    ...(value('rate') !== '' && { per_second: toNumber(value('rate')) }),
    ...(value('options') !== '' && { new_keys: true }),
  }
}

function textOf({ events, skipped }: ReplayCountJson): string {
  const matches = formatCounted(events, 'event matches', 'events match')
  return skipped === 0 ? `${matches}.` : `${matches}. ${formatCount(skipped)} more have no body and are skipped.`
}
