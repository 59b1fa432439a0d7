import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { pathWith, useGet } from '../../ui/api.tsx'
import { formatCount, formatCounted } from '../../ui/format.ts'
import { Panel } from '../../ui/shell.tsx'
import { Status, type Tone } from '../../ui/status.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import { Age, Until } from '../../ui/values.tsx'
import type { DeadGroupsJson } from '../../../admin/dead-letters.ts'
import type { HandlerJson } from '../../../admin/handlers.ts'
import type { WarningJson } from '../../../admin/health.ts'
import { wordsOf } from '../deliveries/reasons.ts'
import { isFailing, lastErrorOf, pendingOf } from '../handlers/handler.ts'
import { PauseAction, PauseAllAction, TryNow } from '../handlers/handler-actions.tsx'
import { useIsOperator } from '../role.ts'

export interface ProblemsProps {
  readonly warnings: readonly WarningJson[]
  readonly handlers: readonly HandlerJson[]
}

interface Problem {
  readonly key: string
  readonly label: string
  readonly tone: Tone
  readonly text: ReactNode
  readonly when: ReactNode
  readonly action: ReactNode
}

const columns: readonly Column<Problem>[] = [
  { header: 'Problem', width: '9rem', isName: true, cell: ({ tone, label }) => <Status tone={tone}>{label}</Status> },
  { header: 'Details', narrow: 'plain', cell: ({ text }) => text },
  { header: 'Time', width: '11rem', narrow: 'plain', cell: ({ when }) => when },
  { header: 'Action', width: '6.5rem', narrow: 'plain', cell: ({ action }) => action },
]

/** Warnings that the lines about sinks and dead letters replace: those are exact, and there at once. */
const replaced = new Set(['sink_shut', 'dead_letters'])
const tones: Readonly<Record<WarningJson['level'], Tone>> = { critical: 'bad', warning: 'warning', info: 'info' }

/** One line per problem, with its action. The most urgent first. */
export function Problems({ warnings, handlers }: ProblemsProps) {
  const dying = handlers.filter(({ dead, held }) => dead + held > 0)
  const groups = useGet<DeadGroupsJson>(dying.length === 0 ? null : '/dead-letters/groups').data?.data ?? []
  const others = Map.groupBy(
    warnings.filter(({ code }) => !replaced.has(code)),
    ({ level }) => level === 'critical',
  )
  const problems = [
    ...(others.get(true) ?? []).map((warning) => toProblem(warning, handlers)),
    ...handlers.filter(isFailing).map(failing),
    ...dying.map((handler) =>
      deadLetters(
        handler,
        groups.filter((group) => group.handler === handler.name),
      ),
    ),
    ...(others.get(false) ?? []).map((warning) => toProblem(warning, handlers)),
  ]
  return (
    <Panel title="Problems" note={problems.length === 0 ? null : formatCount(problems.length)} isFlush>
      <DataTable
        caption="Problems"
        columns={columns}
        rows={problems}
        rowKey={({ key }) => key}
        empty={<p className="ui-panel-body ui-text-good">No problems</p>}
      />
    </Panel>
  )
}

function failing(handler: HandlerJson): Problem {
  const { name, shut, pace } = handler
  const isDown = shut !== null
  return {
    key: `failing ${name}`,
    label: isDown ? 'Sink down' : 'Failing',
    tone: 'bad',
    text: (
      <>
        <b>{shortText(name, 40)}</b> fails: <Line value={lastErrorOf(handler)} fallback="no error known" />. Pending
        runs: {formatCount(pendingOf(handler) + handler.running)}, none lost.
      </>
    ),
    when: isDown ? (
      <>
        next attempt <Until at={shut.until} />
      </>
    ) : (
      <>
        last <Age at={pace?.last_error?.at} /> ago
      </>
    ),
    action: isDown ? (
      <TryNow handler={name} />
    ) : (
      <View href={pathWith('/handlers', { open: name })} what={shortText(name)} />
    ),
  }
}

function deadLetters({ name, dead, held }: HandlerJson, groups: DeadGroupsJson['data']): Problem {
  const [first] = groups
  const kinds = groups.length === 1 ? 'all with' : `${groups.length} groups, the largest with`
  return {
    key: `dead ${name}`,
    label: 'Dead letters',
    tone: 'warning',
    text: (
      <>
        <b>{shortText(name, 40)}</b>: {formatCounted(dead + held, 'run')} failed for good
        {first && `, ${kinds} ${shortText(`${first.sample.error.name}: ${first.sample.error.message}`, 120)}`}
      </>
    ),
    when: first && (
      <>
        last <Age at={first.last_died_at} /> ago
      </>
    ),
    action: <View href={pathWith('/dead-letters', { handler: name })} what={`dead letters of ${shortText(name)}`} />,
  }
}

function toProblem(warning: WarningJson, handlers: readonly HandlerJson[]): Problem {
  const { code, subject, level, title, text, since } = warning
  return {
    key: `${code} ${subject}`,
    label: wordsOf(code),
    tone: tones[level],
    text: (
      <span title={shortText(text, 500)}>
        {shortText(title, 200)}
        {subject !== '' && !title.includes(subject) && `: ${shortText(subject, 80)}`}
      </span>
    ),
    when: (
      <>
        for <Age at={since} />
      </>
    ),
    action: <Remedy warning={warning} handler={handlers.find(({ name }) => name === subject)} />,
  }
}

interface RemedyProps {
  readonly warning: WarningJson
  /** The subject of the warning, if that is a handler. */
  readonly handler: HandlerJson | undefined
}

/** Resumes paused handlers. Other warnings link to their page. */
function Remedy({ warning: { code, subject, title, href }, handler }: RemedyProps) {
  const isOperator = useIsOperator()
  if (isOperator && code === 'paused' && subject === '') return <PauseAllAction isPaused />
  if (isOperator && code === 'paused' && handler?.paused === true) return <PauseAction handler={handler} />
  // The part after # is all that a warning can change.
  return href?.startsWith('/') === true && <View href={href} what={shortText(title)} />
}

function View({ href, what }: { readonly href: string; readonly what: string }) {
  return (
    <Button component={Link} variant="default" href={href} aria-label={`View ${what}`}>
      View
    </Button>
  )
}
