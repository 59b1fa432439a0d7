import { formatCount } from '../../ui/format.ts'
import { List } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { Line, Text } from '../../ui/text.tsx'
import { Age, Id, Time } from '../../ui/values.tsx'
import type { DriftJson } from '../contract.ts'
import { choicesOf, driftKinds, reasonOf } from './reasons.ts'

const columns: readonly Column<DriftJson>[] = [
  { header: 'Last', width: '5rem', isNumber: true, cell: ({ last_at: at }) => <Age at={at} /> },
  { header: 'Kind', width: '9rem', isName: true, cell: ({ kind }) => reasonOf(driftKinds, kind).title },
  {
    header: 'Type',
    width: '13rem',
    cell: ({ type }) => (
      <code>
        <Line value={type} max={60} />
      </code>
    ),
  },
  {
    header: 'Field',
    width: '13rem',
    cell: ({ path }) => (
      <code>
        <Line value={path} max={80} />
      </code>
    ),
  },
  { header: 'Documented', cell: ({ expected }) => <Line value={expected} max={80} /> },
  {
    header: 'Received',
    cell: ({ example }) => (
      <code>
        <Line value={example} max={80} />
      </code>
    ),
  },
  { header: 'Count', width: '5rem', isNumber: true, cell: ({ count }) => formatCount(count) },
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
  const { title, text } = reasonOf(driftKinds, drift.kind)
  return (
    <>
      <p>
        <strong>{title}.</strong> {text}
      </p>
      <Facts
        facts={[
          ['Type', <Text key="type" value={drift.type} />],
          ['Field', <Text key="path" value={drift.path} />],
          ['Documented', <Text key="expected" value={drift.expected} />],
          ['First value', <Text key="example" value={drift.example} />],
          ['Events', formatCount(drift.count)],
          ['First', <Time key="first" at={drift.first_at} />],
          ['Last', <Time key="last" at={drift.last_at} />],
          [
            'First event',
            <Id
              key="event"
              value={drift.first_event_id}
              href={`#/events/${encodeURIComponent(drift.first_event_id)}`}
            />,
          ],
        ]}
      />
    </>
  )
}
