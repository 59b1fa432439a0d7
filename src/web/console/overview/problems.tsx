import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { pathWith, useGet } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/shell.tsx'
import { Status, type Tone } from '../../ui/status.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import { Age, Until } from '../../ui/values.tsx'
import type { DeadGroupsJson, HandlerJson, WarningJson } from '../contract.ts'
import { pendingOf } from '../handlers/handler.ts'
import { TryNow } from '../handlers/handler-actions.tsx'

export interface ProblemsProps {
  readonly warnings: readonly WarningJson[]
  readonly handlers: readonly HandlerJson[]
}

/** Warnings that the lines about sinks and dead letters replace: those are exact, and there at once. */
const replaced = new Set(['sink_shut', 'dead_letters'])
const tones: Readonly<Record<WarningJson['level'], Tone>> = { critical: 'bad', warning: 'warning', info: 'info' }

/** One line per problem, with its action. The most urgent first. */
export function Problems({ warnings, handlers }: ProblemsProps) {
  const closed = handlers.filter(({ shut }) => shut?.reason === 'breaker')
  const dying = handlers.filter(({ dead, held }) => dead + held > 0)
  const groups = useGet<DeadGroupsJson>(dying.length === 0 ? null : '/dead-letters/groups').data?.data ?? []
  const others = warnings.filter(({ code }) => !replaced.has(code))
  const isCritical = ({ level }: WarningJson) => level === 'critical'
  const count = closed.length + dying.length + others.length
  return (
    <Panel title="Problems" note={count === 0 ? null : formatCount(count)} isFlush>
      {count === 0 && <p className="console-problem-none ui-text-good">No problems</p>}
      <ul className="console-problems">
        {others.filter(isCritical).map((warning) => (
          <WarningLine key={`${warning.code} ${warning.subject}`} warning={warning} />
        ))}
        {closed.map((handler) => (
          <Problem
            key={`sink ${handler.name}`}
            label="Sink down"
            tone="bad"
            when={
              <>
                next attempt <Until at={handler.shut?.until} />
              </>
            }
            action={<TryNow handler={handler.name} />}
          >
            <b>{shortText(handler.name, 40)}</b> fails: <Line value={handler.shut?.error} fallback="no error known" />.{' '}
            {formatCount(pendingOf(handler))} items wait, none is lost.
          </Problem>
        ))}
        {dying.map((handler) => (
          <DeadLine
            key={`dead ${handler.name}`}
            handler={handler}
            groups={groups.filter((group) => group.handler === handler.name)}
          />
        ))}
        {others
          .filter((warning) => !isCritical(warning))
          .map((warning) => (
            <WarningLine key={`${warning.code} ${warning.subject}`} warning={warning} />
          ))}
      </ul>
    </Panel>
  )
}

function DeadLine({
  handler: { name, dead, held },
  groups,
}: {
  readonly handler: HandlerJson
  readonly groups: DeadGroupsJson['data']
}) {
  const [first] = groups
  return (
    <Problem
      label="Dead letters"
      tone="warning"
      when={
        first !== undefined && (
          <>
            last <Age at={first.last_died_at} /> ago
          </>
        )
      }
      action={<View href={pathWith('/dead-letters', { handler: name })} what={`dead letters of ${shortText(name)}`} />}
    >
      <b>{shortText(name, 40)}</b>: {formatCount(dead + held)} {dead + held === 1 ? 'run' : 'runs'} failed for good
      {first !== undefined && (
        <>
          , {groups.length === 1 ? 'all with' : `${groups.length} kinds of error, most with`}{' '}
          <code>{shortText(`${first.sample.error.name}: ${first.sample.error.message}`, 120)}</code>
        </>
      )}
    </Problem>
  )
}

function WarningLine({
  warning: { code, subject, level, title, text, since, href },
}: {
  readonly warning: WarningJson
}) {
  return (
    <Problem
      label={labelOf(code)}
      tone={tones[level]}
      when={
        <>
          for <Age at={since} />
        </>
      }
      // The part after # is all that a warning can change.
      action={href?.startsWith('/') === true && <View href={href} what={shortText(title)} />}
    >
      <span title={shortText(text, 500)}>
        {shortText(title, 200)}
        {subject !== '' && !title.includes(subject) && (
          <>
            : <b>{shortText(subject, 80)}</b>
          </>
        )}
      </span>
    </Problem>
  )
}

/** `ack_slow` becomes `Ack slow`. */
function labelOf(code: string): string {
  const words = shortText(code, 24).replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function View({ href, what }: { readonly href: string; readonly what: string }) {
  return (
    <Link href={href} className="ui-button" aria-label={`View ${what}`}>
      View
    </Link>
  )
}

interface ProblemProps {
  readonly label: string
  readonly tone: Tone
  readonly when: ReactNode
  readonly action: ReactNode
  readonly children: ReactNode
}

function Problem({ label, tone, when, action, children }: ProblemProps) {
  return (
    <li>
      <span className="console-problem-label">
        <Status tone={tone}>{label}</Status>
      </span>
      <span className="console-problem-text">{children}</span>
      <span className="ui-dim ui-number">{when}</span>
      {action}
    </li>
  )
}
