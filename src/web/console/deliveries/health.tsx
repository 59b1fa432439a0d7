import { useGet } from '../../ui/api.tsx'
import { formatCount, formatDuration, formatMs, formatShare, formatTime } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status, type Tone } from '../../ui/status.tsx'
import { DataTable, type Column, codeColumn, textColumn, timeColumn } from '../../ui/table.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HealthJson, SilenceJson } from '../../../admin/health.ts'
import { Downtime } from './downtime.tsx'
import { ReconcilePanel } from './reconcile.tsx'

/** Answers as the sender counts them, silent types, downtime and reconcile. */
export function DeliveryHealth() {
  const query = useGet<HealthJson>('/health', { pollMs: 15_000 })
  return (
    <Loaded query={query} rows={12}>
      {(health) => (
        <>
          <Answers sources={health.sources} />
          <Silences silences={health.silences} />
          <Downtime gaps={health.gaps} missing={health.missing_sequence_numbers} />
          <ReconcilePanel gaps={health.gaps} />
        </>
      )}
    </Loaded>
  )
}

/** One panel per source. */
function Answers({ sources }: Pick<HealthJson, 'sources'>) {
  if (sources.length === 0)
    return (
      <Panel title="Answers">
        <Empty title="No receiver in this process">Answers are measured by the process that gives them.</Empty>
      </Panel>
    )
  return sources.map((each) => <AnswersOfSource key={each.source} {...each} />)
}

function AnswersOfSource({ source, sender, retries }: HealthJson['sources'][number]) {
  const { window_s: seconds, success_rate: rate, p99_ms: p99, budget_ms: limit } = sender
  const share = p99 === null || limit === null ? '' : `, ${formatShare(p99 / limit)} used by p99`
  return (
    <Panel
      title={source === 'default' ? 'Answers' : `Answers to ${shortText(source, 40)}`}
      note={`last ${seconds === 3_600 ? 'hour' : formatDuration(seconds * 1_000)}`}
    >
      <Facts
        facts={{
          'Success rate': (
            <span className={rate !== null && rate < 1 ? 'ui-text-bad' : undefined}>{formatShare(rate)}</span>
          ),
          Deliveries: formatCount(sender.deliveries),
          'In time': formatCount(sender.acknowledged),
          Late: formatCount(sender.late),
          'Overloaded (503)': formatCount(sender.refused),
          'Unusable (422)': formatCount(sender.unusable),
          Latency: `p50 ${formatMs(sender.p50_ms)} · p99 ${formatMs(p99)} · maximum ${formatMs(sender.max_ms)}`,
          Limit: limit === null ? 'not documented' : `${formatMs(limit)}${share}`,
        }}
      />
      <p className="ui-dim">
        A delivery succeeds with any 2xx{limit !== null && ` within ${formatMs(limit)}`}. {shortText(retries, 300)}{' '}
        Rejected requests aren’t counted.
      </p>
    </Panel>
  )
}

const silenceTones: Readonly<Record<SilenceJson['state'], Tone>> = {
  silent: 'bad',
  usual: 'good',
  learning: 'neutral',
  gone: 'neutral',
}

/** A learned figure. It isn't reliable before the alarm is armed. */
const learned = (header: string, member: 'usual_ms' | 'alarm_after_ms'): Column<SilenceJson> => ({
  header,
  width: '5.5rem',
  isNumber: true,
  cell: (silence) => (silence.learning === null ? formatDuration(silence[member]) : '–'),
})

const silenceColumns: readonly Column<SilenceJson>[] = [
  codeColumn('Type', 'type', { isName: true }),
  textColumn('Network', 'network', { width: '7rem' }),
  {
    header: 'State',
    width: '21rem',
    narrow: 'plain',
    cell: ({ state, learning }) => (
      <>
        <Status tone={silenceTones[state]}>{state}</Status>{' '}
        {learning !== null && (
          <span className="ui-dim">
            until {formatTime(learning.until).slice(0, 16)}
            {learning.missing_events > 0 && ` and ${formatCount(learning.missing_events)} events`}
          </span>
        )}
      </>
    ),
  },
  { header: 'Silent for', width: '6rem', isNumber: true, cell: ({ silent_ms: ms }) => formatDuration(ms) },
  learned('Usual gap', 'usual_ms'),
  learned('Alarm after', 'alarm_after_ms'),
  timeColumn('Last event', 'last_at'),
]

function Silences({ silences }: { readonly silences: readonly SilenceJson[] }) {
  const silent = silences.filter(({ state }) => state === 'silent').length
  return (
    <Panel title="Silence" note={silent === 0 ? null : `${silent} silent`} isFlush>
      {silences.length === 0 ? (
        <Empty title="No events yet">Each type on each network is watched from its first event on.</Empty>
      ) : (
        <DataTable
          caption="Silence"
          columns={silenceColumns}
          rows={silences}
          rowKey={({ type, network }) => JSON.stringify([type, network])}
        />
      )}
    </Panel>
  )
}
