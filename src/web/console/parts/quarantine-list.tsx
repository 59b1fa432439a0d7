import { Anchor } from '@mantine/core'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import type { QuarantinedJson } from '../contract.ts'
import type { BulkAct } from './bulk-dialog.tsx'
import type { List } from './bulk-list.ts'
import { LoadMore } from './bulk-more.tsx'
import { choiceColumn, SelectionBar, useSelection } from './bulk-selection.tsx'
import { Clipped } from './bulk-text.tsx'
import { BodyButtons } from './quarantine-buttons.tsx'
import { quarantineReason } from './quarantine-reasons.ts'
import { useRole } from './role.ts'

export interface BodyListProps {
  readonly list: List<QuarantinedJson>
  readonly onAct: (act: BulkAct) => void
}

/** Bodies in quarantine one by one, newest first. */
export function BodyList({ list, onAct }: BodyListProps) {
  const isOperator = useRole() === 'operator'
  const selection = useSelection((list.rows ?? []).map(({ id }) => id))
  const count = selection.chosen.length
  return (
    <Panel title="One by one">
      {isOperator && (
        <SelectionBar selection={selection}>
          <BodyButtons
            which={{ ids: selection.chosen }}
            of={count === 1 ? 'that you chose' : `that you chose (${formatCount(count)})`}
            noun="chosen"
            onAct={onAct}
          />
        </SelectionBar>
      )}
      <DataTable
        caption="Bodies in quarantine"
        rows={list.rows}
        error={list.error}
        onRetry={list.reload}
        rowKey={({ id }) => id}
        empty={
          <EmptyState title="No bodies here">
            What comes with a right signature and is no event is listed here.
          </EmptyState>
        }
        columns={[
          ...(isOperator
            ? [
                choiceColumn(
                  selection,
                  ({ id }: QuarantinedJson) => id,
                  ({ id }) => shortId(id),
                ),
              ]
            : []),
          ...columns,
        ]}
      />
      <LoadMore list={list} />
    </Panel>
  )
}

/** The begin of the digest: enough to tell one from the other. */
export function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, 12)
}

const columns: readonly Column<QuarantinedJson>[] = [
  {
    header: 'Body',
    isName: true,
    cell: ({ id }) => (
      <Anchor href={`#/quarantine/${encodeURIComponent(id)}`} title={id}>
        <Clipped value={shortId(id)} />
      </Anchor>
    ),
  },
  { header: 'Reason', cell: ({ reason }) => <span title={reason}>{quarantineReason(reason).title}</span> },
  { header: 'Begin', cell: ({ preview }) => <Clipped value={preview} most={120} /> },
  { header: 'Received', cell: (body) => <Time at={body.received_at} /> },
  { header: 'Size', isNumber: true, cell: (body) => formatBytes(body.size_bytes) },
  { header: 'Came', isNumber: true, cell: ({ count }) => `${formatCount(count)} ×` },
  { header: 'Secret', cell: (body) => <Clipped value={body.secret_label} most={40} /> },
]
