import { useGet, pathWith } from '../../ui/api.tsx'
import { List } from '../../ui/list.tsx'
import { Page, Facts } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HandlerJson, HandlerListJson } from '../../../admin/handlers.ts'
import { useIsOperator } from '../role.ts'
import { byTrouble, concurrencyOf, lastErrorOf, pendingOf, retriesOf, stateOf } from './handler.ts'
import { PauseAllAction, ConcurrencyAction, DropRunsAction, PauseAction, TryNow } from './handler-actions.tsx'
import { pageColumns, noHandlers } from './handler-table.tsx'
import { Link } from 'wouter'
import { formatCount, formatDuration, formatMs, formatShare } from '../../ui/format.ts'
import { Status } from '../../ui/status.tsx'
import { Age, Time, Until } from '../../ui/values.tsx'
import { ErrorBox } from '../error-box.tsx'

/** All handlers and sinks; the panel shows one with its actions and settings. */
export function HandlersPage() {
  const isOperator = useIsOperator()
  const isPaused = useGet<HandlerListJson>('/handlers').data?.paused
  return (
    <Page title="Handlers" actions={isOperator && isPaused !== undefined && <PauseAllAction isPaused={isPaused} />}>
      <List
        caption="Handlers and sinks"
        path="/handlers"
        matches={() => true}
        pollMs={5_000}
        order={byTrouble}
        rowKey={({ name }: HandlerJson) => name}
        columns={pageColumns}
        detail={{
          label: 'Handler',
          title: (name) => shortText(name),
          render: (name, handler) =>
            handler === undefined ? (
              <Empty title="No handler has this name" />
            ) : (
              <HandlerDetail key={name} handler={handler} />
            ),
        }}
        empty={noHandlers}
      />
    </Page>
  )
}

/** A handler in the panel: its error first, then actions, figures and settings. */
function HandlerDetail({ handler }: { readonly handler: HandlerJson }) {
  const { name, kind, loaded, shut, pace, settings, backfill, dead, held } = handler
  const isOperator = useIsOperator()
  const [state, tone] = stateOf(handler)
  const pending = pendingOf(handler)
  const error = lastErrorOf(handler)
  return (
    <>
      <div className="ui-row">
        <Status tone={tone}>{state}</Status>
        {kind !== null && <Status>{kind}</Status>}
      </div>
      {(shut !== null || error !== null) && (
        <ErrorBox title={errorTitleOf(shut)} text={error}>
          {shut !== null && (
            <span>
              Since <Time at={shut.since} />. Next attempt <Until at={shut.until} />.
            </span>
          )}
          {shut?.reason === 'breaker' && !handler.paused && (
            <span>
              <TryNow handler={name} />
            </span>
          )}
        </ErrorBox>
      )}
      {!loaded && (
        <p>
          No loaded file has this handler.{' '}
          {pending > 0 && `${formatCount(pending)} runs are pending until it is back, or are dropped.`}
        </p>
      )}
      {isOperator && (
        <div className="ui-row">
          <PauseAction handler={handler} />
          {settings !== null && <ConcurrencyAction handler={handler} />}
          {!loaded && pending > 0 && <DropRunsAction handler={handler} />}
        </div>
      )}
      <section className="ui-stack">
        <h3>Last five minutes</h3>
        <Facts
          facts={{
            Runs: formatCount(pace?.series.reduce((sum, count) => sum + count, 0)),
            'Error rate': formatShare(pace?.error_rate),
            Latency: `p50 ${formatMs(pace?.p50_ms)} · p95 ${formatMs(pace?.p95_ms)} · p99 ${formatMs(pace?.p99_ms)}`,
          }}
        />
        <h3>Queue</h3>
        <Facts
          facts={{
            Pending: formatCount(pending),
            Oldest: <Age at={handler.oldest_open_at} />,
            Waiting: `${formatCount(handler.waiting)} behind an older run of their key`,
            Suspect: formatCount(handler.suspect),
            Running: formatCount(handler.running),
            'Dead letters': <Link href={pathWith('/dead-letters', { handler: name })}>{formatCount(dead + held)}</Link>,
            'Blocked keys': formatCount(held),
            Superseded: formatCount(handler.superseded),
            Backfill: backfill === null ? undefined : `${formatShare(backfill)} of older events`,
          }}
        />
      </section>
      {settings !== null && (
        <section className="ui-stack">
          <h3>Settings</h3>
          <Facts
            facts={{
              Types: settings.types.join(', '),
              Order: settings.order === 'key' ? 'one run at a time per key' : 'none',
              Key: settings.key?.join(', ') ?? 'of the event',
              Concurrency: concurrencyOf(handler),
              Rate: settings.rate === null || settings.rate === undefined ? 'unlimited' : JSON.stringify(settings.rate),
              Priority: settings.priority,
              Timeout: formatDuration(settings.timeout_ms),
              Retries: retriesOf(handler),
              'On dead letter': settings.on_dead === 'hold' ? 'block the key' : 'go on with the key',
              'Latest only': settings.latest_only ? 'yes' : 'no',
              'Own thread': settings.isolate ? 'yes' : 'no',
              'Maximum age': settings.max_age_ms === null ? 'none' : formatDuration(settings.max_age_ms),
              File: settings.file,
            }}
          />
        </section>
      )}
    </>
  )
}

function errorTitleOf(shut: HandlerJson['shut']): string {
  if (shut === null) return 'Last error'
  return shut.reason === 'breaker'
    ? `${formatCount(shut.failures)} sends failed in a row`
    : 'The sink asked for a pause'
}
