import { Link } from 'wouter'
import { pathWith } from '../../ui/api.tsx'
import { formatCount, formatDuration, formatMs, formatNumber, formatShare } from '../../ui/format.ts'
import { Facts } from '../../ui/shell.tsx'
import { Status } from '../../ui/status.tsx'
import { Text } from '../../ui/text.tsx'
import { Age, Time, Until } from '../../ui/values.tsx'
import type { HandlerJson } from '../contract.ts'
import { useIsOperator } from '../role.ts'
import { errorRateOf, lastErrorOf, pendingOf, stateOf } from './handler.ts'
import { ConcurrencyAction, DropRunsAction, PauseAction, TryNow } from './handler-actions.tsx'

/** A handler in the panel: its error first, then actions, figures and settings. */
export function HandlerDetail({ handler }: { readonly handler: HandlerJson }) {
  const { name, kind, loaded, shut, pace, settings, backfill, set_concurrency: set, dead, held } = handler
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
      {shut !== null && (
        <div className="ui-error">
          <strong>
            {shut.reason === 'breaker'
              ? `${formatCount(shut.failures)} sends failed in a row`
              : 'The sink asked for a pause'}
          </strong>
          {error !== null && (
            <code>
              <Text value={error} />
            </code>
          )}
          <span>
            Since <Time at={shut.since} />. Next attempt <Until at={shut.until} />.
          </span>
          {shut.reason === 'breaker' && (
            <div>
              <TryNow handler={name} />
            </div>
          )}
        </div>
      )}
      {shut === null && error !== null && (
        <div className="ui-error">
          <strong>Last error</strong>
          <code>
            <Text value={error} />
          </code>
        </div>
      )}
      {!loaded && (
        <p>
          No loaded file has this handler.{' '}
          {pending === 0
            ? 'Nothing waits for it.'
            : `${formatCount(pending)} runs wait until it is back, or are dropped.`}
        </p>
      )}
      {isOperator && (
        <div className="ui-row">
          <PauseAction handler={handler} />
          {settings !== null && <ConcurrencyAction handler={handler} />}
          {!loaded && pending > 0 && <DropRunsAction handler={handler} />}
        </div>
      )}
      {backfill !== null && (
        <div>
          <progress className="console-progress" max={1} value={backfill} aria-label="Backfill" /> Backfill of older
          events: {formatShare(backfill)}
        </div>
      )}
      <section className="ui-stack">
        <h3>Last five minutes</h3>
        <Facts
          facts={[
            ['Runs / min', pace === null ? '–' : formatNumber(pace.per_second * 60)],
            ['Error rate', formatShare(errorRateOf(handler))],
            [
              'Latency',
              `p50 ${formatMs(pace?.p50_ms)} · p95 ${formatMs(pace?.p95_ms)} · p99 ${formatMs(pace?.p99_ms)}`,
            ],
          ]}
        />
        <h3>Queue</h3>
        <Facts
          facts={[
            ['Pending', formatCount(pending)],
            ['Oldest', <Age key="oldest" at={handler.oldest_open_at} />],
            ['Waiting', `${formatCount(handler.waiting)} behind an older run of their key`],
            ['Suspect', formatCount(handler.suspect)],
            ['Running', formatCount(handler.running)],
            ['Concurrency', concurrencyOf(set, settings)],
            [
              'Dead letters',
              <Link key="dead" href={pathWith('/dead-letters', { handler: name })}>
                {formatCount(dead + held)}
              </Link>,
            ],
            ['Blocked keys', formatCount(held)],
            ['Superseded', formatCount(handler.superseded)],
          ]}
        />
      </section>
      {settings !== null && (
        <section className="ui-stack">
          <h3>Settings</h3>
          <Facts
            facts={[
              ['Types', <Text key="types" value={settings.types.join(', ')} />],
              ['Order', settings.order === 'key' ? 'one run at a time per key' : 'none'],
              ['Key', <Text key="key" value={settings.key?.join(', ') ?? 'of the event'} />],
              [
                'Rate',
                settings.rate === null || settings.rate === undefined ? (
                  'unlimited'
                ) : (
                  <Text key="rate" value={JSON.stringify(settings.rate)} />
                ),
              ],
              ['Priority', settings.priority],
              ['Timeout', formatDuration(settings.timeout_ms)],
              [
                'Retries',
                settings.retry === null
                  ? 'by a function'
                  : `${settings.retry.attempts} attempts, ${formatDuration(settings.retry.base_ms)} doubling to ${formatDuration(settings.retry.cap_ms)}`,
              ],
              ['On dead letter', settings.on_dead === 'hold' ? 'block the key' : 'go on with the key'],
              ['Latest only', settings.latest_only ? 'yes' : 'no'],
              ['Own thread', settings.isolate ? 'yes' : 'no'],
              ['Maximum age', settings.max_age_ms === null ? 'none' : formatDuration(settings.max_age_ms)],
              ['File', <Text key="file" value={settings.file} />],
            ]}
          />
        </section>
      )}
    </>
  )
}

function concurrencyOf(set: number | null, settings: HandlerJson['settings']): string {
  if (set === null) return settings === null ? '–' : formatCount(settings.own_concurrency)
  return `${formatCount(set)}, set by an operator${settings === null ? '' : ` (own: ${formatCount(settings.own_concurrency)})`}`
}
