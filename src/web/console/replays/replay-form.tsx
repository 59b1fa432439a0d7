import { Button } from '@mantine/core'
import { useAction, useGet } from '../../ui/api.tsx'
import { filledIn, Form, toNumber, type Field, type ValueOf } from '../../ui/form.tsx'
import { formatCount, formatCounted } from '../../ui/format.ts'
import { Failure } from '../../ui/states.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HandlerListJson } from '../../../admin/handlers.ts'
import type { ReplayCountJson } from '../../../admin/replays.ts'
import { parseFilter, toQuery } from '../events/filter.ts'

/** Selects events like the filter line of Events, counts them, and replays the counted ones. */
export function ReplayForm({ onStarted }: { readonly onStarted: () => void }) {
  const handlers = useGet<HandlerListJson>('/handlers').data?.data ?? []
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
        fields={fields.map((field) => ({ ...field, isOptional: true }))}
        run={async ({ api, value }) => {
          const request = toRequest(value)
          const counted = await api.send<ReplayCountJson>('POST', '/replays', { ...request, dryRun: true })
          return <Counted counted={counted} request={request} onStarted={onStarted} />
        }}
      />
    </>
  )
}

interface CountedProps {
  readonly counted: ReplayCountJson
  readonly request: object
  readonly onStarted: () => void
}

function Counted({ counted, request, onStarted }: CountedProps) {
  const start = useAction((api) => api.send('POST', '/replays', request))
  return (
    <span className="ui-row">
      <span>{textOf(counted)}</span>
      <Button
        disabled={counted.events === 0}
        loading={start.isPending}
        onClick={() => start.mutate(undefined, { onSuccess: onStarted })}
      >
        Replay {formatCounted(counted.events, 'event')}
      </Button>
      <Failure error={start.error} />
    </span>
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
