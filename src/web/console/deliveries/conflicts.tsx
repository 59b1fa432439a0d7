import { pathWith, useGet } from '../../ui/api.tsx'
import { fromBase64 } from '../../ui/base64.ts'
import { formatCount } from '../../ui/format.ts'
import { List } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { Id, Time } from '../../ui/values.tsx'
import { ageColumn, bytesColumn, codeColumn, countColumn } from '../../ui/columns.tsx'
import type { ConflictDetailJson, ConflictJson } from '../../../admin/conflicts.ts'
import { EventId } from '../events/event-id.tsx'
import { Comparison } from './comparison.tsx'

const columns: readonly Column<ConflictJson>[] = [
  ageColumn('Received', 'received_at'),
  codeColumn('Event', 'event_id', { width: '16rem', isName: true }),
  codeColumn('Type', 'type'),
  codeColumn('Digest', 'digest', { width: '9rem', narrow: 'hidden' }),
  bytesColumn('Size', 'size_bytes'),
  countColumn('Count', 'count'),
]

/** Deliveries whose id is known with another body. The first body is the one that was handled. */
export function ConflictList() {
  return (
    <List
      caption="Conflicts"
      path="/conflicts"
      rowKey={({ digest, event_id: id }: ConflictJson) => `${digest} ${id}`}
      columns={columns}
      detail={{
        label: 'Conflict',
        render: (key) => <Conflict key={key} digest={key.slice(0, 64)} id={key.slice(65)} />,
      }}
      empty={
        <Empty title="No conflicts">A delivery with a known id and another body appears here, with both bodies.</Empty>
      }
    />
  )
}

function Conflict({ digest, id }: { readonly digest: string; readonly id: string }) {
  const query = useGet<ConflictDetailJson>(pathWith(`/conflicts/${encodeURIComponent(id)}`, { digest }))
  return (
    <Loaded query={query}>
      {(conflict) => (
        <>
          <Facts
            facts={[
              ['Event', <EventId key="event" id={conflict.event_id} />],
              ['Digest', <Id key="digest" value={conflict.digest} label="digest" />],
              ['Received', <Time key="received" at={conflict.received_at} />],
              ['Count', formatCount(conflict.count)],
            ]}
          />
          {conflict.raw_base64 === '' || conflict.kept_raw_base64 === '' ? (
            <p className="ui-dim">The bodies were pruned with the event. The id stays known.</p>
          ) : (
            <Comparison kept={fromBase64(conflict.kept_raw_base64)} other={fromBase64(conflict.raw_base64)} />
          )}
        </>
      )}
    </Loaded>
  )
}
