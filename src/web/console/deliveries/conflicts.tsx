import { fromBase64, pathWith, useGet } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { indentJson } from '../../ui/json-view.tsx'
import { List } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, ageColumn, bytesColumn, codeColumn, countColumn } from '../../ui/table.tsx'
import { shortText } from '../../ui/text.tsx'
import { Id, Time } from '../../ui/values.tsx'
import type { ConflictDetailJson, ConflictJson } from '../../../admin/conflicts.ts'
import { EventId } from '../events/event-id.tsx'

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
            facts={{
              Event: <EventId id={conflict.event_id} />,
              Digest: <Id value={conflict.digest} label="digest" />,
              Received: <Time at={conflict.received_at} />,
              Count: formatCount(conflict.count),
            }}
          />
          {conflict.raw_base64 === '' || conflict.kept_raw_base64 === '' ? (
            <p className="ui-dim">The bodies were pruned with the event. The id stays known.</p>
          ) : (
            <Bodies kept={linesOf(conflict.kept_raw_base64)} other={linesOf(conflict.raw_base64)} />
          )}
        </>
      )}
    </Loaded>
  )
}

/** Compared lines of each body. */
const maxLines = 1_000

/** The lines of a body, indented if it is JSON. */
function linesOf(base64: string): readonly string[] {
  return indentJson(new TextDecoder().decode(fromBase64(base64))).split('\n')
}

interface BodiesProps {
  readonly kept: readonly string[]
  readonly other: readonly string[]
}

/** Both bodies, with the lines marked that the other one lacks. */
function Bodies({ kept, other }: BodiesProps) {
  const isCut = kept.length > maxLines || other.length > maxLines
  const bodies = [
    { name: 'Kept body', mark: '−', className: 'ui-text-bad', lines: kept, others: new Set(other) },
    { name: 'Other body', mark: '+', className: 'ui-text-good', lines: other, others: new Set(kept) },
  ]
  const count = bodies.reduce((sum, { lines, others }) => sum + lines.filter((line) => !others.has(line)).length, 0)
  return (
    <>
      <p role="status">
        {count === 0 ? 'The bodies differ in order or white space only.' : `${formatCount(count)} lines differ.`}
        {isCut && ` Only the first ${formatCount(maxLines)} are shown.`}
      </p>
      {bodies.map(({ name, mark, className, lines, others }) => (
        <section key={name} className="ui-stack">
          <h3>{name}</h3>
          <pre className="ui-block" role="region" aria-label={name} tabIndex={0}>
            {lines.slice(0, maxLines).map((line, index) => (
              // Lines have no identity, and don't move.
              <span key={index} className={others.has(line) ? undefined : className}>
                {`${others.has(line) ? ' ' : mark} ${shortText(line, 2_000)}\n`}
              </span>
            ))}
          </pre>
        </section>
      ))}
    </>
  )
}
