import { Link } from 'wouter'
import { Action } from '../ui/action.tsx'
import { pathWith, useGet, type Api } from '../ui/api.tsx'
import { formatCount } from '../ui/format.ts'
import { List, useSelection, type Target } from '../ui/list.tsx'
import { usePlace } from '../ui/router.tsx'
import { Facts, Page } from '../ui/shell.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import { DataTable, type Column } from '../ui/table.tsx'
import { Line, shortText, Text, TextBlock } from '../ui/text.tsx'
import { Age, Id, Time } from '../ui/values.tsx'
import type { DeadGroupsJson, DeadLetterJson, DroppedJson, HandlerListJson, RequeuedJson } from './contract.ts'
import { useIsOperator } from './role.ts'

type Group = DeadGroupsJson['data'][number]

/** Dead letters of a request to the admin API. */
type Which =
  | { readonly all: true }
  | { readonly run_ids: readonly number[] }
  | { readonly filter: Readonly<Record<string, string>> }

/** Runs that failed for good, by group and one by one. */
export function DeadLettersPage() {
  const handlers = useGet<HandlerListJson>('/handlers').data?.data ?? []
  const { handler, type } = usePlace().parameters
  const isOperator = useIsOperator()
  return (
    <Page title="Dead letters" isFilling>
      <List
        caption="Dead letters"
        path="/dead-letters"
        rowKey={(letter: DeadLetterJson) => String(letter.run_id)}
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
          actions: (target: Target) => <LetterActions which={[whichOf(target)]} what={nameOf(target)} />,
        })}
        detail={{ label: 'Dead letter', render: (key, row) => <Letter runId={key} row={row} /> }}
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
  { header: 'Died', width: '4.5rem', isNumber: true, narrow: 'plain', cell: ({ died_at: at }) => <Age at={at} /> },
  { header: 'Error', isName: true, cell: ({ error }) => <Line value={`${error.name}: ${error.message}`} max={200} /> },
  { header: 'Handler', width: '10rem', cell: ({ handler }) => <Line value={handler} max={60} /> },
  {
    header: 'Type',
    width: '12rem',
    isOptional: true,
    cell: ({ type }) => (
      <code>
        <Line value={type} max={60} />
      </code>
    ),
  },
  {
    header: 'Attempts',
    width: '5.5rem',
    isNumber: true,
    isOptional: true,
    cell: ({ attempt }) => formatCount(attempt),
  },
  {
    header: 'Key',
    width: '5rem',
    narrow: 'plain',
    cell: ({ held }) => held && <Status tone="warning">blocked</Status>,
  },
]

const groupColumns: readonly Column<Group>[] = [
  { header: 'Error group', isName: true, cell: ({ group }) => <Line value={group} max={200} /> },
  {
    header: 'Top frame',
    width: '24%',
    isOptional: true,
    cell: ({ sample }) => (
      <code className="ui-dim">
        <Line value={topFrameOf(sample.error.stack)} max={120} />
      </code>
    ),
  },
  { header: 'Handler', width: '10rem', cell: ({ handler }) => <Line value={handler} max={60} /> },
  { header: 'Count', width: '5rem', isNumber: true, cell: ({ count }) => formatCount(count) },
  {
    header: 'First',
    width: '5rem',
    isNumber: true,
    isOptional: true,
    cell: ({ first_died_at: at }) => <Age at={at} />,
  },
  { header: 'Last', width: '5rem', isNumber: true, cell: ({ last_died_at: at }) => <Age at={at} /> },
  {
    header: 'Events',
    width: '5rem',
    narrow: 'plain',
    cell: ({ handler }) => (
      <Link href={pathWith('/events', { status: 'dead', handler })} aria-label={`Events of ${shortText(handler)}`}>
        Events
      </Link>
    ),
  },
]

/** Errors that differ only in numbers and addresses are one group. A click on a group filters the list below. */
function Groups({ path }: { readonly path: string }) {
  const place = usePlace()
  const query = useGet<DeadGroupsJson>(path)
  const isOperator = useIsOperator()
  const selection = useSelection(query.data?.data.map(keyOf) ?? [])
  const { handler = '', group: name = '' } = place.parameters
  return (
    <Loaded query={query} rows={3}>
      {({ data, complete }) => {
        if (data.length === 0) return null
        const chosen = data.filter((group) => selection.keys.has(keyOf(group)))
        return (
          <section aria-label="Error groups" className="console-groups">
            <div className="ui-bar">
              <h2>Error groups</h2>
              <span className="ui-dim">
                {complete ? formatCount(data.length) : `${formatCount(data.length)} among the newest dead letters`}
              </span>
              {isOperator && chosen.length > 0 && (
                <span className="ui-row ui-bar-end">
                  <LetterActions
                    what={chosen.length === 1 ? 'group' : `${chosen.length} groups`}
                    which={chosen.map((group) => ({ filter: { handler: group.handler, group: group.group } }))}
                  />
                </span>
              )}
            </div>
            <DataTable
              caption="Error groups"
              columns={groupColumns}
              rows={data}
              rowKey={keyOf}
              openKey={JSON.stringify([handler, name])}
              hrefOf={(group) => place.hrefWith({ handler: group.handler, group: group.group, open: '' })}
              {...(isOperator && { selection })}
            />
          </section>
        )
      }}
    </Loaded>
  )
}

function keyOf({ handler, group }: Group): string {
  return JSON.stringify([handler, group])
}

/** The first frame of a stack, with the last two parts of its path: `at run (handlers/ledger.ts:12:9)`. */
function topFrameOf(stack: string | null): string | null {
  const frame = stack?.split('\n').find((line) => /^\s+at /.test(line))
  return frame?.trim().replace(/(?:file:\/\/)?\/[^\s()]*\/(?=[^/\s()]+\/[^/\s()]+)/, '') ?? null
}

function whichOf({ keys, filter }: Target): Which {
  if (keys.length > 0) return { run_ids: keys.map(Number) }
  return Object.keys(filter).length > 0 ? { filter } : { all: true }
}

function nameOf({ keys, filter }: Target): string {
  if (keys.length > 0) return 'selected'
  return Object.keys(filter).length > 0 ? 'matching' : 'all'
}

interface LetterActionsProps {
  readonly which: readonly Which[]
  /** Completes the label: `Requeue group`. */
  readonly what: string
}

/** Requeue and drop, counted before they are confirmed. */
function LetterActions({ which, what }: LetterActionsProps) {
  const letters = (count: number) => (count === 1 ? '1 dead letter' : `${formatCount(count)} dead letters`)
  const act = async (api: Api, verb: 'requeue' | 'drop', body: object) => {
    let count = 0
    let isComplete = true
    for (const one of which) {
      const answer = await api.send<RequeuedJson | DroppedJson>('POST', `/dead-letters/${verb}`, { ...one, ...body })
      count += 'requeued' in answer ? answer.requeued : answer.dropped
      isComplete &&= answer.complete
    }
    return { count, more: isComplete ? '' : ' These are the first of them: repeat the action for the rest.' }
  }
  const preview = async (api: Api, verb: 'requeue' | 'drop', body: object) => {
    const { count, more } = await act(api, verb, { ...body, dryRun: true })
    return { count, text: `${letters(count)} selected.${more}` }
  }
  return (
    <>
      <Action
        label={`Requeue ${what}`}
        title="Requeue dead letters?"
        isPrimary
        preview={({ api }) => preview(api, 'requeue', {})}
        run={async ({ api }) => {
          const { count, more } = await act(api, 'requeue', {})
          return `${letters(count)} requeued.${more}`
        }}
      >
        Their handlers get the events again, with attempts reset. Fix the cause first.
      </Action>
      <Action
        label={`Drop ${what}`}
        title="Drop dead letters?"
        isDangerous
        needsReason
        preview={({ api, reason }) => preview(api, 'drop', { reason })}
        run={async ({ api, reason }) => {
          const { count, more } = await act(api, 'drop', { reason })
          return `${letters(count)} dropped.${more}`
        }}
      >
        The runs end for good and no longer block their keys.
      </Action>
    </>
  )
}

function Letter({ runId, row }: { readonly runId: string; readonly row: DeadLetterJson | undefined }) {
  const query = useGet<DeadLetterJson>(row === undefined ? `/dead-letters/${encodeURIComponent(runId)}` : null)
  const letter = row ?? query.data
  const isOperator = useIsOperator()
  if (letter === undefined) return <Loaded query={query}>{() => null}</Loaded>
  const { error, event_id: eventId } = letter
  return (
    <>
      <div className="ui-error">
        <strong>{shortText(error.name, 100)}</strong>
        <code>
          <Text value={error.message} max={500} />
        </code>
        {error.stack !== null && <TextBlock value={error.stack} label="Stack trace" />}
      </div>
      {isOperator && (
        <div className="ui-row">
          <LetterActions which={[{ run_ids: [letter.run_id] }]} what="run" />
        </div>
      )}
      <Facts
        facts={[
          ['Event', <Id key="event" value={eventId} href={`#/events/${encodeURIComponent(eventId)}`} />],
          ['Type', <Text key="type" value={letter.type} />],
          ['Handler', <Text key="handler" value={letter.handler} />],
          ['Run', letter.run_id],
          ['Attempts', formatCount(letter.attempt)],
          ['Crashes', formatCount(letter.crashed)],
          ['Died', <Time key="died" at={letter.died_at} />],
          ['Blocks its key', letter.held ? 'yes' : 'no'],
        ]}
      />
    </>
  )
}
