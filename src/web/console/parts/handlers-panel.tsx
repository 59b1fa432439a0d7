import { Anchor } from '@mantine/core'
import { formatCount } from '../../ui/format.ts'
import { LongText, shortText } from '../../ui/long-text.tsx'
import { Facts } from '../../ui/page.tsx'
import { toVisible } from '../../ui/plain-text.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import { queryOf } from '../api-client.ts'
import type { HandlerJson } from '../contract.ts'
import { ConcurrencyAct, DropRunsAct, openRunsOf, PauseAct, type HandlerActProps } from './handlers-acts.tsx'
import { HandlerSettings } from './handlers-settings.tsx'
import { formatMs, formatRate, formatShare } from './overview-format.ts'
import { useRole } from './role.ts'

/** One handler or sink: how it goes, what waits for it, and what can be done about it. */
export function HandlerPanel({ handler, onDone }: HandlerActProps) {
  const { name, settings, set_concurrency: set, pace } = handler
  const isOperator = useRole() === 'operator'
  const concurrency = set ?? settings?.concurrency
  return (
    <article className="ui-panel console-handler" aria-label={shortText(name)}>
      <div className="ui-panel-head">
        <h2>
          <bdi title={toVisible(name.slice(0, 500))}>{shortText(name)}</bdi> <Badges handler={handler} />
        </h2>
        {isOperator && (
          <div className="ui-row">
            <ConcurrencyAct handler={handler} onDone={onDone} />
            <PauseAct handler={handler} onDone={onDone} />
            {!handler.loaded && openRunsOf(handler) > 0 && <DropRunsAct handler={handler} onDone={onDone} />}
          </div>
        )}
      </div>
      <Remarks handler={handler} />
      <Facts
        facts={[
          ['Attempts', pace === null ? '–' : formatRate(pace.per_second)],
          ['Failures', pace === null ? '–' : <Failures key="failures" perSecond={pace.failures_per_second} />],
          ['p50', formatMs(pace?.p50_ms ?? null)],
          ['p95', formatMs(pace?.p95_ms ?? null)],
          ['p99', formatMs(pace?.p99_ms ?? null)],
          ['Waiting', formatCount(handler.waiting)],
          ['Ready', formatCount(handler.ready)],
          [
            'Running',
            `${formatCount(handler.running)}${concurrency === undefined ? '' : ` of ${formatCount(concurrency)}`}`,
          ],
          ['Suspect', formatCount(handler.suspect)],
          ['Held', <Dead key="held" name={name} count={handler.held} />],
          ['Dead', <Dead key="dead" name={name} count={handler.dead} />],
          ['Superseded', formatCount(handler.superseded)],
        ]}
      />
      {settings !== null && <HandlerSettings settings={settings} />}
    </article>
  )
}

function Badges({ handler: { kind, loaded, paused, shut } }: { readonly handler: HandlerJson }) {
  return (
    <>
      {kind !== null && <StatusBadge status={kind} />}
      {paused && <StatusBadge status="paused" tone="warning" />}
      {shut !== null && <StatusBadge status="left alone" tone="bad" />}
      {!loaded && <StatusBadge status="not loaded" tone="warning" />}
    </>
  )
}

function Remarks({ handler }: { readonly handler: HandlerJson }) {
  const { loaded, shut, backfill, settings, set_concurrency: set } = handler
  const open = openRunsOf(handler)
  return (
    <>
      {!loaded && (
        <p>
          No file in the folder of handlers has this name any more.{' '}
          {open === 0
            ? 'Nothing waits for it.'
            : `${formatCount(open)} ${open === 1 ? 'run waits' : 'runs wait'} until it is back, or until they are dropped.`}
        </p>
      )}
      {shut !== null && (
        <p>
          {shut.reason === 'breaker' ? (
            <>
              Left alone since <Time at={shut.since} /> UTC: {formatCount(shut.failures)} sends in a row have failed.
              One item is tried at <Time at={shut.until} /> UTC.
            </>
          ) : (
            <>
              It asked for a pause at <Time at={shut.since} /> UTC. It is sent to again at <Time at={shut.until} /> UTC.
            </>
          )}
          {shut.error !== null && (
            <>
              {' '}
              The last error: <LongText value={shut.error} />
            </>
          )}
        </p>
      )}
      {backfill !== null && (
        <div>
          <progress
            className="console-progress"
            max={1}
            value={backfill}
            aria-label="How much of the older events it has got"
          />
          <p>It is given what was stored before it was added: {formatShare(backfill)} so far.</p>
        </div>
      )}
      {set !== null && (
        <p className="ui-dimmed">
          Somebody set its concurrency to {formatCount(set)}
          {settings !== null && <>; it says {formatCount(settings.own_concurrency)} itself</>}.
        </p>
      )}
    </>
  )
}

function Failures({ perSecond }: { readonly perSecond: number }) {
  return <span className={perSecond > 0 ? 'ui-bad' : ''}>{formatRate(perSecond)}</span>
}

function Dead({ name, count }: { readonly name: string; readonly count: number }) {
  if (count === 0) return <>0</>
  return (
    <Anchor href={`#/dead-letters${queryOf({ handler: name })}`} className="ui-bad">
      {formatCount(count)}
    </Anchor>
  )
}
