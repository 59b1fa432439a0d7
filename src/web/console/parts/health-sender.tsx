import { formatCount, formatDuration } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import type { SenderMeterJson } from '../contract.ts'
import { formatMs, formatShare } from './overview-format.ts'
import './overview.css'

/** How the receiver did, as its sender counts it (R43, R44, R79). `isShort`: without the counts of what failed. */
export function SenderPanel({
  sender,
  isShort,
}: {
  readonly sender: SenderMeterJson | null
  readonly isShort: boolean
}) {
  const title = 'As the sender sees it'
  if (sender === null) {
    return (
      <Panel title={title}>
        <EmptyState title="No receiver runs in this process">
          Acknowledgements are measured where they are given.
        </EmptyState>
      </Panel>
    )
  }
  const { deliveries, late, refused, unusable, success_rate: rate } = sender
  return (
    <Panel
      title={title}
      about={`Over the last ${sender.window_s === 3_600 ? 'hour' : formatDuration(sender.window_s * 1_000)}.`}
    >
      <div className="ui-stack console-sender">
        <BudgetBar sender={sender} />
        <div className="ui-figures">
          <Facts
            facts={[
              ['Success rate', <Rate key="rate" rate={rate} />],
              ['Deliveries', formatCount(deliveries)],
              ['p50', formatMs(sender.p50_ms)],
              ['p99', formatMs(sender.p99_ms)],
              ...(isShort
                ? []
                : ([
                    ['Longest', formatMs(sender.max_ms)],
                    ['Acknowledged in time', formatCount(sender.acknowledged)],
                    ['Too late', formatCount(late)],
                    ['Refused', formatCount(refused)],
                    ...(unusable === 0 ? [] : ([['Unusable (422)', formatCount(unusable)]] as const)),
                  ] as const)),
            ]}
          />
        </div>
        {!isShort && (
          <p className="ui-dimmed">
            To the sender a delivery has succeeded if it is answered with any 2xx within {formatMs(sender.budget_ms)}.
            All else has failed, also a 2xx that comes later: it tries again after 1 min, 5 min, 30 min, 2 h and 8 h,
            and then gives the event up. Counted are authentic deliveries and what was refused with 503; what was
            refused for good is on the page of rejects.
          </p>
        )}
      </div>
    </Panel>
  )
}

function Rate({ rate }: { readonly rate: number | null }) {
  return <span className={rate === null ? '' : rate === 1 ? 'ui-good' : 'ui-bad'}>{formatShare(rate)}</span>
}

/** How much of the time that the sender waits is used: a bar to the p99, with a mark at the p50. */
function BudgetBar({ sender }: { readonly sender: SenderMeterJson }) {
  const { p50_ms: p50, p99_ms: p99, budget_ms: budget } = sender
  if (p50 === null || p99 === null) return <p className="ui-dimmed">No deliveries, so nothing to measure.</p>
  const used = p99 / budget
  const tone = used < 0.5 ? 'good' : used < 0.8 ? 'warning' : 'bad'
  const said = `p99 ${formatMs(p99)} of ${formatMs(budget)} (${formatShare(used)})`
  return (
    <div className="console-budget">
      <div
        role="meter"
        aria-label="How much of the sender's patience is used"
        aria-valuemin={0}
        aria-valuemax={budget}
        aria-valuenow={Math.min(p99, budget)}
        aria-valuetext={said}
      >
        <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">
          <rect className={`console-budget-${tone}`} width={Math.max(0.5, Math.min(100, used * 100))} height="10" />
          <rect className="console-budget-mark" x={Math.min(99.6, (p50 / budget) * 100)} width="0.4" height="10" />
        </svg>
      </div>
      <p>
        p50 {formatMs(p50)}, {said}
      </p>
    </div>
  )
}
