import { useGet, ApiError } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { List } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { Line, Text, TextBlock } from '../../ui/text.tsx'
import { Age, Time } from '../../ui/values.tsx'
import type { RejectExplanationJson, RejectGroupJson } from '../contract.ts'
import { choicesOf, reasonOf, rejectReasons, verdicts } from './reasons.ts'

const columns: readonly Column<RejectGroupJson>[] = [
  { header: 'Last', width: '5rem', isNumber: true, cell: ({ last_at: at }) => <Age at={at} /> },
  { header: 'Reason', width: '13rem', isName: true, cell: ({ reason }) => reasonOf(rejectReasons, reason).title },
  {
    header: 'Code',
    width: '14rem',
    narrow: 'hidden',
    cell: ({ reason }) => (
      <code>
        <Line value={reason} max={60} />
      </code>
    ),
  },
  { header: 'Address', width: '11rem', cell: ({ source }) => <Line value={source} max={60} /> },
  {
    header: 'Request',
    cell: ({ method, path }) => (
      <code>
        <Line value={`${method} ${path}`} max={120} />
      </code>
    ),
  },
  { header: 'Count', width: '5rem', isNumber: true, cell: ({ count }) => formatCount(count) },
]

/** Rejected requests by reason and address, since the start of this process. */
export function RejectedList() {
  return (
    <List
      caption="Rejected requests"
      path="/rejects"
      rowKey={(group: RejectGroupJson) => group.id}
      columns={columns}
      filters={[{ name: 'reason', label: 'Reasons', values: choicesOf(rejectReasons) }]}
      matches={({ reason }, filter) => filter['reason'] === undefined || reason === filter['reason']}
      detail={{ label: 'Rejected request', render: (id, row) => <Rejected key={id} id={id} row={row} /> }}
      empty={
        <Empty title="Nothing rejected since the start">
          Requests with a wrong signature, path or size appear here. <code>onchain-inbox verify</code> explains a
          signature by hand.
        </Empty>
      }
    />
  )
}

function Rejected({ id, row }: { readonly id: string; readonly row: RejectGroupJson | undefined }) {
  const isExplainable = row?.explainable !== false
  const query = useGet<RejectExplanationJson>(isExplainable ? `/rejects/${encodeURIComponent(id)}` : null)
  const isGone = query.error instanceof ApiError && query.error.status === 404
  return (
    <>
      {row !== undefined && (
        <>
          <div className="ui-error">
            <strong>{reasonOf(rejectReasons, row.reason).title}</strong>
            <span>{reasonOf(rejectReasons, row.reason).text}</span>
          </div>
          <Facts
            facts={[
              ['Code', <Text key="code" value={row.reason} />],
              ['Address', <Text key="source" value={row.source} />],
              ['Request', <Text key="request" value={`${row.method} ${row.path}`} />],
              ['Count', formatCount(row.count)],
              ['First', <Time key="first" at={row.first_at} />],
              ['Last', <Time key="last" at={row.last_at} />],
              ['Body', row.size_bytes === null ? 'not read' : `${formatCount(row.size_bytes)} bytes`],
            ]}
          />
        </>
      )}
      {isGone && <Empty title="The sample is gone">Newer requests replaced it, or the process restarted.</Empty>}
      {isExplainable && !isGone && (
        <Loaded query={query}>
          {({ code, message, matched_label: label, headers, preview }) => (
            <section className="ui-stack">
              <h3>Signature</h3>
              <p>
                <strong>{reasonOf(verdicts, code).title}.</strong> <Text value={message} />
              </p>
              <p>{reasonOf(verdicts, code).text}</p>
              <Facts
                facts={[
                  ['Finding', <Text key="code" value={code} />],
                  ['Matching secret', <Text key="label" value={label} fallback="none" />],
                ]}
              />
              <h3>Headers without secrets</h3>
              <TextBlock
                label="Headers"
                value={Object.entries(headers)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join('\n')}
              />
              <h3>Start of the body</h3>
              <TextBlock label="Start of the body" value={preview === '' ? '(empty)' : preview} />
            </section>
          )}
        </Loaded>
      )}
    </>
  )
}
