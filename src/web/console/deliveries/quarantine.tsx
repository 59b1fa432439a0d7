import { ApiError, useGet, type Api } from '../../ui/api.tsx'
import { Action } from '../../ui/action.tsx'
import { fromBase64 } from '../../ui/base64.ts'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { List, type Target } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { Line, Text } from '../../ui/text.tsx'
import { Age, Id, Time } from '../../ui/values.tsx'
import type { DroppedBodiesJson, QuarantinedDetailJson, QuarantinedJson, RetriedJson } from '../contract.ts'
import { Bytes } from '../events/body.tsx'
import { useIsOperator } from '../role.ts'
import { choicesOf, quarantineReasons, reasonOf } from './reasons.ts'

const columns: readonly Column<QuarantinedJson>[] = [
  { header: 'Received', width: '5rem', isNumber: true, cell: ({ received_at: at }) => <Age at={at} /> },
  { header: 'Reason', width: '11rem', isName: true, cell: ({ reason }) => reasonOf(quarantineReasons, reason).title },
  {
    header: 'Body',
    narrow: 'plain',
    cell: ({ preview }) => (
      <code>
        <Line value={preview} max={200} />
      </code>
    ),
  },
  { header: 'Size', width: '6rem', isNumber: true, cell: ({ size_bytes: size }) => formatBytes(size) },
  { header: 'Count', width: '5rem', isNumber: true, cell: ({ count }) => formatCount(count) },
  { header: 'Secret', width: '8rem', cell: ({ secret_label: label }) => <Line value={label} max={40} /> },
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

function BodyActions({ target: { keys, filter } }: { readonly target: Target }) {
  const isFiltered = Object.keys(filter).length > 0
  const which = keys.length > 0 ? { ids: keys } : isFiltered ? { filter } : { all: true }
  const what = keys.length > 0 ? 'selected' : isFiltered ? 'matching' : 'all'
  const retry = (api: Api, more: object) => api.send<RetriedJson>('POST', '/quarantine/retry', { ...which, ...more })
  const drop = (api: Api, more: object) =>
    api.send<DroppedBodiesJson>('POST', '/quarantine/drop', { ...which, ...more })
  const textOf = ({ accepted, known, still_unusable: unusable }: RetriedJson) =>
    `${formatCount(accepted)} accepted, ${formatCount(known)} known already, ${formatCount(unusable)} still unusable.`
  const bodies = (count: number) => (count === 1 ? '1 body' : `${formatCount(count)} bodies`)
  return (
    <>
      <Action
        label={`Retry ${what}`}
        title="Retry quarantined bodies?"
        isPrimary
        preview={async ({ api }) => {
          const result = await retry(api, { dryRun: true })
          return { count: result.accepted + result.known, text: `Would give: ${textOf(result)}` }
        }}
        run={async ({ api }) => textOf(await retry(api, {}))}
      >
        The bodies are read as events again, after an update that understands them.
      </Action>
      <Action
        label={`Drop ${what}`}
        title="Drop quarantined bodies?"
        isDangerous
        needsReason
        preview={async ({ api, reason }) => {
          const { dropped } = await drop(api, { reason, dryRun: true })
          return { count: dropped, text: `${bodies(dropped)} selected.` }
        }}
        run={async ({ api, reason }) => `${bodies((await drop(api, { reason })).dropped)} dropped.`}
      >
        Their bytes are deleted for good.
      </Action>
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
          <div className="ui-error">
            <strong>{reasonOf(quarantineReasons, body.reason).title}</strong>
            <span>{reasonOf(quarantineReasons, body.reason).text}</span>
          </div>
          {isOperator && (
            <div className="ui-row">
              <BodyActions target={{ keys: [id], filter: {} }} />
            </div>
          )}
          <Facts
            facts={[
              ['Id', <Id key="id" value={body.id} />],
              ['Code', <Text key="reason" value={body.reason} />],
              ['Received', <Time key="received" at={body.received_at} />],
              ['Count', formatCount(body.count)],
              ['Size', formatBytes(body.size_bytes)],
              ['Secret', <Text key="label" value={body.secret_label} />],
            ]}
          />
          <section className="ui-stack">
            <h3>Body</h3>
            {body.size_bytes === 0 ? (
              <p className="ui-dim">The body is empty.</p>
            ) : (
              <Bytes bytes={fromBase64(body.raw_base64)} label="Body" fileName={`quarantined-${id.slice(7, 19)}.bin`} />
            )}
          </section>
        </>
      )}
    </Loaded>
  )
}
