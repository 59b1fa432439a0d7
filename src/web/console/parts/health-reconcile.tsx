import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { formatCount } from '../../ui/format.ts'
import { LongText } from '../../ui/long-text.tsx'
import { Facts, Panel } from '../../ui/page.tsx'
import { ErrorState } from '../../ui/states.tsx'
import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { GapJson, ReconcileJson } from '../contract.ts'
import { Candidates } from './health-candidates.tsx'
import { ReconcileForm } from './health-reconcile-form.tsx'
import { usePoll } from './overview-live.ts'
import { useRole } from './role.ts'

const tones: Readonly<Record<ReconcileJson['state'], Tone>> = {
  running: 'info',
  done: 'good',
  failed: 'bad',
  cancelled: 'neutral',
}
const pollMs = 1_500

export interface ReconcilePanelProps {
  /** As the health tells it; null: there was none in this process. */
  readonly told: ReconcileJson | null
  /** Whether the server has access to the service. */
  readonly isConfigured: boolean
  readonly gaps: readonly GapJson[]
}

/** Compares the trades that the service knows of, over a time, with what is stored; what no event names is a candidate. */
export function ReconcilePanel({ told, isConfigured, gaps }: ReconcilePanelProps) {
  const api = useApiClient()
  const isOperator = useRole() === 'operator'
  const [current, setCurrent] = useState(told)
  const { run, isBusy, error } = useAct()
  useEffect(() => setCurrent((before) => newerOf(before, told)), [told])
  const ask = () =>
    void api.get<{ readonly reconcile: ReconcileJson | null }>('/reconcile').then(
      ({ reconcile }) => setCurrent(reconcile),
      // The next one may succeed, and the page says elsewhere that the server does not answer.
      () => {},
    )
  const isRunning = current?.state === 'running'
  usePoll(isRunning ? pollMs : null, ask)
  const cancel = () =>
    void run(async () => {
      const { reconcile } = await api.send<{ readonly reconcile: ReconcileJson | null }>('POST', '/reconcile/cancel')
      setCurrent(reconcile)
    })

  return (
    <Panel
      title="Reconcile"
      about="Asks the service, through its API, for the trades of the wallets that are known here, over a time, and lists those that no stored event names. Alerts cannot be reconciled: the service keeps no list of what they told."
    >
      {isOperator && !isRunning && isConfigured && <ReconcileForm gaps={gaps} onStarted={setCurrent} />}
      {!isConfigured && (
        <p>
          There is no access to the service’s API: set <code>INBOX_API_URL</code> and <code>INBOX_API_KEY</code>, and
          start the inbox again.
        </p>
      )}
      {!isOperator && current === null && <p className="ui-dimmed">Nothing was reconciled since this process began.</p>}
      <ErrorState error={error} />
      {current !== null && (
        <div className="ui-stack" role="group" aria-label="The last reconciliation">
          <div className="ui-row">
            <h3>
              <Time at={current.from} /> to <Time at={current.to} /> UTC
            </h3>
            <StatusBadge status={current.state} tone={tones[current.state]} />
            {isOperator && isRunning && (
              <Button size="xs" variant="default" loading={isBusy} onClick={cancel}>
                Cancel
              </Button>
            )}
          </div>
          <Progress reconcile={current} />
          {current.notes.length > 0 && (
            <div>
              What it cannot tell:
              <ul className="console-notes">
                {current.notes.map((note) => (
                  <li key={note}>
                    <LongText value={note} />
                  </li>
                ))}
              </ul>
            </div>
          )}
          {current.error !== null && (
            <p className="ui-bad">
              It ended early: <LongText value={current.error} />
            </p>
          )}
          <Candidates reconcile={current} />
        </div>
      )}
    </Panel>
  )
}

/** An answer may have been on its way while another one was started. */
function newerOf(before: ReconcileJson | null, told: ReconcileJson | null): ReconcileJson | null {
  if (before === null || told === null) return told ?? before
  return Date.parse(told.started_at) < Date.parse(before.started_at) ? before : told
}

function Progress({ reconcile }: { readonly reconcile: ReconcileJson }) {
  const { state, wallets, wallets_done: done } = reconcile
  return (
    <>
      {state === 'running' && (
        <progress
          className="console-progress"
          max={Math.max(1, wallets)}
          value={done}
          aria-label="Wallets that were asked for"
        />
      )}
      <Facts
        facts={[
          ['Wallets', `${formatCount(done)} of ${formatCount(wallets)}`],
          ['Trades', formatCount(reconcile.trades)],
          ['Candidates', formatCount(reconcile.candidate_count)],
          ['Requests', formatCount(reconcile.requests)],
          ['Started', <Time key="started" at={reconcile.started_at} />],
          ['Ended', <Time key="ended" at={reconcile.ended_at} />],
        ]}
      />
    </>
  )
}
