import { Address } from '../../ui/address.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { DeadLetterJson } from '../contract.ts'
import type { BulkAct } from './bulk-dialog.tsx'
import { eventHref } from './bulk-links.ts'
import type { List } from './bulk-list.ts'
import { LoadMore } from './bulk-more.tsx'
import { choiceColumn, SelectionBar, useSelection } from './bulk-selection.tsx'
import { Clipped } from './bulk-text.tsx'
import { LetterButtons } from './dead-letters-buttons.tsx'
import { LetterError } from './dead-letters-error.tsx'
import { useRole } from './role.ts'

export interface LetterListProps {
  readonly list: List<DeadLetterJson>
  readonly title: string
  readonly onAct: (act: BulkAct) => void
}

/** Dead letters one by one, those that died last first. */
export function LetterList({ list, title, onAct }: LetterListProps) {
  const isOperator = useRole() === 'operator'
  const selection = useSelection((list.rows ?? []).map((letter) => letter.run_id))
  const count = selection.chosen.length
  return (
    <Panel title={title}>
      {isOperator && (
        <SelectionBar selection={selection}>
          <LetterButtons
            which={{ run_ids: selection.chosen }}
            of={count === 1 ? 'that you chose' : `that you chose (${formatCount(count)})`}
            noun="chosen"
            onAct={onAct}
          />
        </SelectionBar>
      )}
      <DataTable
        caption="Dead letters"
        rows={list.rows}
        error={list.error}
        onRetry={list.reload}
        rowKey={(letter) => String(letter.run_id)}
        empty={<EmptyState title="No dead letters here">What fails for good is listed here.</EmptyState>}
        columns={[
          ...(isOperator
            ? [
                choiceColumn(
                  selection,
                  (letter: DeadLetterJson) => letter.run_id,
                  (letter) => `run ${letter.run_id}`,
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

const columns: readonly Column<DeadLetterJson>[] = [
  {
    header: 'Event',
    isName: true,
    cell: (letter) => <Address value={letter.event_id} href={eventHref(letter.event_id)} />,
  },
  {
    header: 'State',
    cell: ({ held }) =>
      held ? <StatusBadge status="holds up its key" tone="warning" /> : <StatusBadge status="dead" tone="bad" />,
  },
  { header: 'Error', cell: (letter) => <LetterError letter={letter} /> },
  { header: 'Handler', cell: ({ handler }) => <Clipped value={handler} most={80} /> },
  { header: 'Type', cell: ({ type }) => <Clipped value={type} most={80} /> },
  { header: 'Attempts', isNumber: true, cell: ({ attempt }) => formatCount(attempt) },
  { header: 'Crashes', isNumber: true, cell: ({ crashed }) => formatCount(crashed) },
  { header: 'Died', cell: (letter) => <Time at={letter.died_at} /> },
]
