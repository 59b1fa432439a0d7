import { Link } from 'wouter'
import { pathWith, useGet } from '../ui/api.tsx'
import { formatCount, formatCounted } from '../ui/format.ts'
import { List, useSelection, type Target } from '../ui/list.tsx'
import { usePageLocation } from '../ui/router.tsx'
import { Facts, Page, Panel } from '../ui/shell.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import { DataTable, type Column, ageColumn, codeColumn, countColumn, textColumn } from '../ui/table.tsx'
import { Line, shortText } from '../ui/text.tsx'
import { Time } from '../ui/values.tsx'
import { BulkAction, selectionOf } from './bulk-action.tsx'
import type { DeadGroupsJson, DeadLetterJson, DroppedJson, RequeuedJson } from '../../admin/dead-letters.ts'
import type { HandlerListJson } from '../../admin/handlers.ts'
import { ErrorBox } from './error-box.tsx'
import { EventId } from './events/event-id.tsx'
import { useIsOperator } from './role.ts'

type Group = DeadGroupsJson['data'][number]

/** Runs that failed for good, by group and one by one. */
export function DeadLettersPage() {
  const handlers = useGet<HandlerListJson>('/handlers').data?.data ?? []
  const { handler, type } = usePageLocation().parameters
  const isOperator = useIsOperator()
  return (
    <Page title="Dead letters">
      <List
        caption="Dead letters"
        path="/dead-letters"
        rowKey={(row: DeadLetterJson) => String(row.run_id)}
        columns={columns}
        filters={[
          {
            name: 'handler',
            label: 'Handlers',
            values: handlers.filter(({ dead, held }) => dead + held > 0).map(({ name }) => name),
          },
          { name: 'type', label: 'Type' },
          { name: 'group', label: 'Error group' },
        ]}
        above={<Groups path={pathWith('/dead-letters/groups', { handler, type })} />}
        {...(isOperator && {
          actions: (target: Target) => (
            <DeadLetterActions {...selectionOf(target, runsOf, (keys) => ({ run_ids: keys.map(Number) }))} />
          ),
        })}
        detail={{ label: 'Dead letter', render: (key, row) => <DeadLetter runId={key} row={row} /> }}
        empty={
          <Empty title="No dead letters">
            A run becomes a dead letter after its last attempt, or when its handler throws a <code>TerminalError</code>.
          </Empty>
        }
      />
    </Page>
  )
}

const columns: readonly Column<DeadLetterJson>[] = [
  ageColumn('Died', 'died_at', { narrow: 'plain' }),
  { header: 'Error', isName: true, cell: ({ error }) => <Line value={`${error.name}: ${error.message}`} max={200} /> },
  textColumn('Handler', 'handler', { width: '10rem' }),
  codeColumn('Type', 'type', { width: '12rem', isOptional: true }),
  countColumn('Attempts', 'attempt', { width: '5.5rem', isOptional: true }),
  {
    header: 'Key',
    width: '5.5rem',
    narrow: 'plain',
    cell: ({ held }) => held && <Status tone="warning">blocked</Status>,
  },
]

const groupColumns: readonly Column<Group>[] = [
  { header: 'Error group', isName: true, cell: (group) => <Line value={errorOf(group)} max={200} /> },
  codeColumn('Top frame', 'frame', { width: '24%', isOptional: true }),
  textColumn('Handler', 'handler', { width: '10rem' }),
  countColumn('Count', 'count'),
  ageColumn('First', 'first_died_at', { isOptional: true }),
  ageColumn('Last', 'last_died_at'),
  { header: 'Open', width: '8rem', narrow: 'plain', cell: (group) => <GroupLinks {...group} /> },
]

function GroupLinks({ handler, group, sample }: Group) {
  const location = usePageLocation()
  return (
    <span className="ui-row">
      <Link href={location.hrefWith({ open: String(sample.run_id) })} aria-label={`Newest of ${shortText(group)}`}>
        Newest
      </Link>
      <Link href={pathWith('/events', { handler, group })} aria-label={`Events of ${shortText(group)}`}>
        Events
      </Link>
    </span>
  )
}

/** The part of a group before its frame. */
function errorOf({ group, frame }: Group): string {
  return frame === null ? group : group.slice(0, -frame.length).trimEnd()
}

const keyOf = ({ handler, group }: Pick<Group, 'handler' | 'group'>) => JSON.stringify([handler, group])

/** Errors that differ only in numbers and addresses are one group. A click on a group filters the list below. */
function Groups({ path }: { readonly path: string }) {
  const location = usePageLocation()
  const query = useGet<DeadGroupsJson>(path)
  const isOperator = useIsOperator()
  const selection = useSelection(query.data?.data.map(keyOf) ?? [])
  const { handler = '', group = '' } = location.parameters
  return (
    <Loaded query={query} rows={3}>
      {({ data, complete }) => {
        if (data.length === 0) return null
        const selected = data.filter((row) => selection.keys.has(keyOf(row)))
        return (
          <div className="console-groups">
            <Panel
              title="Error groups"
              note={complete ? formatCount(data.length) : `the ${formatCount(data.length)} largest`}
              isFlush
              actions={
                isOperator &&
                selected.length > 0 && (
                  <DeadLetterActions
                    what={runsOf(selected.reduce((sum, row) => sum + row.count, 0))}
                    which={selected.map((row) => ({ filter: { handler: row.handler, group: row.group } }))}
                  />
                )
              }
            >
              <DataTable
                caption="Error groups"
                columns={groupColumns}
                rows={data}
                rowKey={keyOf}
                openKey={keyOf({ handler, group })}
                hrefOf={(row) => location.hrefWith({ handler: row.handler, group: row.group, open: '' })}
                {...(isOperator && { selection })}
              />
            </Panel>
          </div>
        )
      }}
    </Loaded>
  )
}

const runsOf = (count: number) => formatCounted(count, 'run')

export interface DeadLetterActionsProps {
  readonly which: readonly object[]
  /** Completes the labels: `Requeue 3 runs`. */
  readonly what: string
  /** Handler, where several have such buttons. */
  readonly of?: string
}

/** Requeues or drops dead letters. */
export function DeadLetterActions(selection: DeadLetterActionsProps) {
  return (
    <>
      <BulkAction
        {...selection}
        verb="Requeue"
        title="Requeue dead letters?"
        path="/dead-letters/requeue"
        resultOf={resultOf}
      >
        Their handlers get the events again, with attempts reset. Fix the cause first.
      </BulkAction>
      <BulkAction
        {...selection}
        verb="Drop"
        title="Drop dead letters?"
        path="/dead-letters/drop"
        isDrop
        resultOf={resultOf}
      >
        The runs end for good and no longer block their keys.
      </BulkAction>
    </>
  )
}

function resultOf(results: readonly (RequeuedJson | DroppedJson)[], isDryRun: boolean) {
  const count = results.reduce((sum, result) => sum + ('requeued' in result ? result.requeued : result.dropped), 0)
  const verb = isDryRun ? 'selected' : results.some((result) => 'requeued' in result) ? 'requeued' : 'dropped'
  const isComplete = results.every(({ complete }) => complete)
  return {
    count,
    text: `${formatCounted(count, 'dead letter')} ${verb}.${isComplete ? '' : ' These are the first of them: repeat the action for the rest.'}`,
  }
}

function DeadLetter({ runId, row }: { readonly runId: string; readonly row: DeadLetterJson | undefined }) {
  const query = useGet<DeadLetterJson>(row === undefined ? `/dead-letters/${encodeURIComponent(runId)}` : null)
  const isOperator = useIsOperator()
  const deadLetter = row ?? query.data
  if (deadLetter === undefined) return <Loaded query={query}>{() => null}</Loaded>
  const { error } = deadLetter
  return (
    <>
      <ErrorBox title={shortText(error.name, 100)} text={error.message} stack={error.stack} isStackOpen />
      {isOperator && (
        <div className="ui-row">
          <DeadLetterActions which={[{ run_ids: [deadLetter.run_id] }]} what="1 run" />
        </div>
      )}
      <Facts
        facts={{
          Event: <EventId id={deadLetter.event_id} />,
          Type: deadLetter.type,
          Handler: deadLetter.handler,
          Run: deadLetter.run_id,
          Attempts: formatCount(deadLetter.attempt),
          Crashes: formatCount(deadLetter.crashed),
          Died: <Time at={deadLetter.died_at} />,
          'Blocks its key': deadLetter.held ? 'yes' : 'no',
        }}
      />
    </>
  )
}
