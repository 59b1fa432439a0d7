import { useGet, ApiError } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { List } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, ageColumn, countColumn, textColumn } from '../../ui/table.tsx'
import { Line, Text, TextBlock } from '../../ui/text.tsx'
import { Time } from '../../ui/values.tsx'
import type { RejectExplanationJson, RejectGroupJson } from '../../../admin/rejects.ts'
import { ErrorBox, Headers } from '../error-box.tsx'
import { choicesOf, reasonOf, rejectReasons, wordsOf } from './reasons.ts'

const columns: readonly Column<RejectGroupJson>[] = [
  ageColumn('Last', 'last_at'),
  { header: 'Reason', width: '14rem', isName: true, cell: ({ reason }) => wordsOf(reason) },
  textColumn('Address', 'client', { width: '11rem' }),
  { header: 'Request', cell: ({ method, path }) => <Line value={`${method} ${path}`} /> },
  countColumn('Count', 'count'),
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
          <ErrorBox {...reasonOf(rejectReasons, row.reason)} />
          <Facts
            facts={{
              Code: row.reason,
              Address: row.client,
              Request: `${row.method} ${row.path}`,
              Count: formatCount(row.count),
              First: <Time at={row.first_at} />,
              Last: <Time at={row.last_at} />,
              Body: row.size_bytes === null ? 'not read' : `${formatCount(row.size_bytes)} bytes`,
            }}
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
                <Text value={message} max={500} />
              </p>
              <Facts facts={{ Finding: code, 'Matching secret': label ?? 'none' }} />
              <h3>Headers without secrets</h3>
              <Headers headers={headers} />
              <h3>Start of the body</h3>
              <TextBlock label="Start of the body" value={preview === '' ? '(empty)' : preview} />
            </section>
          )}
        </Loaded>
      )}
    </>
  )
}
