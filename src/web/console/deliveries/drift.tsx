import { formatCount } from '../../ui/format.ts'
import { List } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import { type Column, ageColumn, codeColumn, countColumn, textColumn } from '../../ui/table.tsx'
import { Time } from '../../ui/values.tsx'
import type { DriftJson } from '../../../admin/health.ts'
import { EventId } from '../events/event-id.tsx'
import { choicesOf, driftKinds, reasonOf, wordsOf } from './reasons.ts'

const columns: readonly Column<DriftJson>[] = [
  ageColumn('Last', 'last_at'),
  { header: 'Kind', width: '9rem', isName: true, cell: ({ kind }) => wordsOf(kind) },
  codeColumn('Type', 'type', { width: '13rem' }),
  codeColumn('Field', 'path', { width: '13rem' }),
  textColumn('Documented', 'expected'),
  codeColumn('Received', 'example'),
  countColumn('Count', 'count'),
]

/** How events differ from their documentation. All of them were accepted. */
export function DriftList() {
  return (
    <List
      caption="Drift"
      path="/drift"
      rowKey={({ kind, type, path }: DriftJson) => JSON.stringify([kind, type, path])}
      columns={columns}
      filters={[{ name: 'kind', label: 'Kinds', values: choicesOf(driftKinds) }]}
      matches={({ kind }, filter) => filter['kind'] === undefined || kind === filter['kind']}
      detail={{
        label: 'Drift',
        render: (_key, row) => (row === undefined ? <Empty title="Not seen since the start" /> : <Drift drift={row} />),
      }}
      empty={
        <Empty title="Events match their documentation">
          Accepted events with new, missing or unusual fields are counted here.
        </Empty>
      }
    />
  )
}

function Drift({ drift }: { readonly drift: DriftJson }) {
  return (
    <>
      <p>{reasonOf(driftKinds, drift.kind).text}</p>
      <Facts
        facts={{
          Kind: wordsOf(drift.kind),
          Type: drift.type,
          Field: drift.path,
          Documented: drift.expected,
          'First value': drift.example,
          Events: formatCount(drift.count),
          First: <Time at={drift.first_at} />,
          Last: <Time at={drift.last_at} />,
          'First event': <EventId id={drift.first_event_id} />,
        }}
      />
    </>
  )
}
