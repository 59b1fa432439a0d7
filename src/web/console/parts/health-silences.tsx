import { NativeSelect } from '@mantine/core'
import { DataTable } from '../../ui/data-table.tsx'
import { formatDuration } from '../../ui/format.ts'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { LongText } from '../../ui/long-text.tsx'
import { Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { SilenceJson } from '../contract.ts'

const tones: Readonly<Record<SilenceJson['state'], Tone>> = {
  silent: 'bad',
  usual: 'good',
  learning: 'neutral',
  gone: 'neutral',
}
const order: readonly SilenceJson['state'][] = ['silent', 'usual', 'learning', 'gone']

/** Of which types nothing has come for far longer than usual; the silent ones first, those that are over for good last. */
export function SilencesPanel({ silences }: { readonly silences: readonly SilenceJson[] }) {
  const { path, query } = useLocation()
  const wanted = query.get('silences') ?? ''
  const rows = silences
    .filter(({ state }) => wanted === '' || state === wanted)
    .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  const choose = (state: string) => {
    const next = new URLSearchParams(query)
    if (state === '') next.delete('silences')
    else next.set('silences', state)
    goTo(`${path}${next.size === 0 ? '' : `?${next.toString()}`}`, { replace: true })
  }
  return (
    <Panel
      title="Silences"
      about="For each type on each network: how long nothing has come while this receiver was in service, against what is usual."
      actions={
        <NativeSelect
          size="xs"
          aria-label="Which silences"
          data={[{ value: '', label: 'All' }, ...order]}
          value={wanted}
          onChange={(event) => choose(event.currentTarget.value)}
        />
      }
    >
      <DataTable
        caption="Silences"
        rows={rows}
        rowKey={({ type, network }) => JSON.stringify([type, network])}
        empty={
          <EmptyState title={silences.length === 0 ? 'No events yet' : 'No such silences'}>
            A type is watched from its first event on.
          </EmptyState>
        }
        columns={columns}
      />
    </Panel>
  )
}

const columns = [
  { header: 'Type', isName: true, cell: ({ type }: SilenceJson) => <LongText value={type} /> },
  { header: 'Network', cell: ({ network }: SilenceJson) => <LongText value={network} /> },
  { header: 'State', cell: ({ state }: SilenceJson) => <StatusBadge status={state} tone={tones[state]} /> },
  { header: 'Last came (UTC)', cell: ({ last_at: at }: SilenceJson) => <Time at={at} /> },
  { header: 'Silent for', isNumber: true, cell: ({ silent_ms: ms }: SilenceJson) => formatDuration(ms) },
  { header: 'Usual', isNumber: true, cell: ({ usual_ms: ms }: SilenceJson) => formatDuration(ms) },
  { header: 'Alarm after', isNumber: true, cell: ({ alarm_after_ms: ms }: SilenceJson) => formatDuration(ms) },
]
