import { Button, TextInput } from '@mantine/core'
import { useEffect, useState, type SubmitEvent } from 'react'
import { useAction, useGet } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { usePlace } from '../../ui/router.tsx'
import { Panel } from '../../ui/shell.tsx'
import { Failure } from '../../ui/states.tsx'
import { Status, type Tone } from '../../ui/status.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { Line, Text } from '../../ui/text.tsx'
import { OnChain, Time } from '../../ui/values.tsx'
import type { GapJson, ReconcileJson } from '../contract.ts'
import { useIsOperator } from '../role.ts'

type Candidate = ReconcileJson['candidates'][number]

const tones: Readonly<Record<ReconcileJson['state'], Tone>> = {
  running: 'info',
  done: 'good',
  failed: 'bad',
  cancelled: 'neutral',
}

const columns: readonly Column<Candidate>[] = [
  { header: 'Trade', isName: true, cell: ({ summary }) => <Line value={summary} max={120} /> },
  { header: 'Traded', width: '10rem', cell: ({ traded_at: at }) => <Time at={at} /> },
  { header: 'Network', width: '8rem', cell: ({ network }) => <Line value={network} max={40} /> },
  {
    header: 'Wallet',
    width: '11rem',
    cell: ({ network, wallet }) => <OnChain kind="address" network={network} value={wallet} />,
  },
  {
    header: 'Transaction',
    width: '11rem',
    cell: ({ network, tx_hash: tx }) => <OnChain kind="transaction" network={network} value={tx} />,
  },
]

export interface ReconcilePanelProps {
  /** The latest comparison of this process. */
  readonly latest: ReconcileJson | null
  readonly isConfigured: boolean
  readonly gaps: readonly GapJson[]
}

/** Compares the trades of the upstream service with stored events. */
export function ReconcilePanel({ latest, isConfigured, gaps }: ReconcilePanelProps) {
  const isOperator = useIsOperator()
  const isRunning = latest?.state === 'running'
  const polled = useGet<{ readonly reconcile: ReconcileJson | null }>(isRunning ? '/reconcile' : null, {
    pollMs: 1_500,
  })
  const current = isRunning ? (polled.data?.reconcile ?? latest) : latest
  const cancel = useAction((api) => api.send('POST', '/reconcile/cancel'))
  return (
    <Panel title="Reconcile" note="trades of known wallets; alerts can’t be reconciled">
      {!isConfigured && (
        <p>
          Set <code>INBOX_API_URL</code> and <code>INBOX_API_KEY</code>, and restart.
        </p>
      )}
      {isOperator && isConfigured && !isRunning && <ReconcileForm gaps={gaps} />}
      {current === null && isConfigured && <p className="ui-dim">Nothing reconciled since the start.</p>}
      {current !== null && (
        <div className="ui-stack" role="group" aria-label="Latest reconcile">
          <span className="ui-row">
            <Status tone={tones[current.state]}>{current.state}</Status>
            <span>
              <Time at={current.from} /> to <Time at={current.to} /> UTC
            </span>
            <span className="ui-dim">
              {formatCount(current.wallets_done)} of {formatCount(current.wallets)} wallets,{' '}
              {formatCount(current.trades)} trades, {formatCount(current.requests)} requests
            </span>
            {isOperator && current.state === 'running' && (
              <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
                Cancel
              </Button>
            )}
          </span>
          {current.error !== null && (
            <p className="ui-text-bad">
              <Text value={current.error} />
            </p>
          )}
          {current.notes.map((note) => (
            <p key={note} className="ui-dim">
              <Text value={note} />
            </p>
          ))}
          <p>
            {current.candidate_count === 0
              ? 'Every trade is named by a stored event.'
              : `${formatCount(current.candidate_count)} trades without an event${current.candidate_count > current.candidates.length ? `, the first ${formatCount(current.candidates.length)} shown` : ''}`}
          </p>
          {current.candidates.length > 0 && (
            <div className="console-candidates">
              <DataTable
                caption="Trades without an event"
                columns={columns}
                rows={current.candidates}
                rowKey={({ network, wallet, tx_hash: tx }) => JSON.stringify([network, wallet, tx])}
              />
            </div>
          )}
        </div>
      )}
    </Panel>
  )
}

/** The span of the address, else of the latest downtime. */
function ReconcileForm({ gaps: [latest] }: { readonly gaps: readonly GapJson[] }) {
  const { parameters } = usePlace()
  const span = latest?.lost ?? latest
  const first = toField(parameters['from'] ?? span?.from, Math.floor)
  const end = toField(parameters['to'] ?? span?.to, Math.ceil)
  const [from, setFrom] = useState(first)
  const [to, setTo] = useState(end)
  useEffect(() => {
    setFrom(first)
    setTo(end)
  }, [first, end])
  const start = useAction((api) => api.send('POST', '/reconcile', { from: toMoment(from), to: toMoment(to) }))
  return (
    <form
      className="ui-stack"
      aria-label="Reconcile"
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault()
        start.mutate(undefined)
      }}
    >
      <span className="ui-row">
        <TextInput
          type="datetime-local"
          step={1}
          aria-label="From (UTC)"
          required
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
        />
        to
        <TextInput
          type="datetime-local"
          step={1}
          aria-label="To (UTC)"
          required
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
        UTC
        <Button type="submit" loading={start.isPending}>
          Find missing trades
        </Button>
      </span>
      <Failure error={start.error} />
    </form>
  )
}

/** The value of a `datetime-local` field, in whole seconds. */
function toField(moment: string | undefined, round: (seconds: number) => number): string {
  const at = Date.parse(moment ?? '')
  return Number.isNaN(at) ? '' : new Date(round(at / 1_000) * 1_000).toISOString().slice(0, 19)
}

/** An invalid field is sent as it is: the server names the mistake. */
function toMoment(field: string): string {
  const at = Date.parse(`${field}Z`)
  return Number.isNaN(at) ? field : new Date(at).toISOString()
}
