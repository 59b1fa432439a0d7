import { ApiError, fromBase64, useGet } from '../../ui/api.tsx'
import { formatBytes, formatCount, formatCounted } from '../../ui/format.ts'
import { List, type Target } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, ageColumn, bytesColumn, codeColumn, countColumn, textColumn } from '../../ui/table.tsx'
import { Id, Time } from '../../ui/values.tsx'
import { BulkAction, selectionOf } from '../bulk-action.tsx'
import type {
  DroppedBodiesJson,
  QuarantinedDetailJson,
  QuarantinedJson,
  RetriedJson,
} from '../../../admin/quarantine.ts'
import { ErrorBox } from '../error-box.tsx'
import { Bytes } from '../events/body.tsx'
import { useIsOperator } from '../role.ts'
import { choicesOf, quarantineReasons, reasonOf, wordsOf } from './reasons.ts'

const columns: readonly Column<QuarantinedJson>[] = [
  ageColumn('Received', 'received_at'),
  { header: 'Reason', width: '11rem', isName: true, cell: ({ reason }) => wordsOf(reason) },
  codeColumn('Body', 'preview', { narrow: 'plain' }),
  bytesColumn('Size', 'size_bytes'),
  countColumn('Count', 'count'),
  textColumn('Secret', 'secret_label', { width: '8rem' }),
]

/** Signed bodies that are not usable events. The sender got 200 for them. */
export function QuarantineList() {
  const isOperator = useIsOperator()
  return (
    <List
      caption="Quarantine"
      path="/quarantine"
      rowKey={({ id }: QuarantinedJson) => id}
      columns={columns}
      filters={[{ name: 'reason', label: 'Reasons', values: choicesOf(quarantineReasons) }]}
      {...(isOperator && { actions: (target: Target) => <BodyActions target={target} /> })}
      detail={{ label: 'Quarantined body', render: (id) => <Quarantined key={id} id={id} /> }}
      empty={
        <Empty title="Quarantine is empty">
          Signed deliveries that can’t be parsed as events are kept here with their bytes.
        </Empty>
      }
    />
  )
}

const bodiesOf = (count: number) => formatCounted(count, 'body', 'bodies')

function BodyActions({ target }: { readonly target: Target }) {
  const selection = selectionOf(target, bodiesOf, (ids) => ({ ids }))
  return (
    <>
      <BulkAction
        {...selection}
        verb="Retry"
        title="Retry quarantined bodies?"
        path="/quarantine/retry"
        resultOf={([result]: readonly RetriedJson[], isDryRun) => {
          const { accepted = 0, known = 0, still_unusable: unusable = 0 } = result ?? {}
          const text = `${formatCount(accepted)} accepted, ${formatCount(known)} known already, ${formatCount(unusable)} still unusable.`
          return { count: accepted + known, text: isDryRun ? `Would give: ${text}` : text }
        }}
      >
        The bodies are read as events again, after an update that understands them.
      </BulkAction>
      <BulkAction
        {...selection}
        verb="Drop"
        title="Drop quarantined bodies?"
        path="/quarantine/drop"
        isDrop
        resultOf={([result]: readonly DroppedBodiesJson[], isDryRun) => {
          const count = result?.dropped ?? 0
          return { count, text: `${bodiesOf(count)} ${isDryRun ? 'selected' : 'dropped'}.` }
        }}
      >
        Their bytes are deleted for good.
      </BulkAction>
    </>
  )
}

function Quarantined({ id }: { readonly id: string }) {
  const query = useGet<QuarantinedDetailJson>(`/quarantine/${encodeURIComponent(id)}`)
  const isOperator = useIsOperator()
  if (query.error instanceof ApiError && query.error.status === 404)
    return <Empty title="No longer in quarantine">It was accepted, dropped or pruned. The audit says which.</Empty>
  return (
    <Loaded query={query}>
      {(body) => (
        <>
          <ErrorBox {...reasonOf(quarantineReasons, body.reason)} />
          {isOperator && (
            <div className="ui-row">
              <BodyActions target={{ keys: [id], filter: {} }} />
            </div>
          )}
          <Facts
            facts={{
              Id: <Id value={body.id} />,
              Code: body.reason,
              Received: <Time at={body.received_at} />,
              Count: formatCount(body.count),
              Size: formatBytes(body.size_bytes),
              Secret: body.secret_label,
            }}
          />
          <h3>Body</h3>
          {body.size_bytes === 0 ? (
            <p className="ui-dim">The body is empty.</p>
          ) : (
            <Bytes bytes={fromBase64(body.raw_base64)} label="Body" fileName={`quarantined-${id.slice(7, 19)}.bin`} />
          )}
        </>
      )}
    </Loaded>
  )
}
