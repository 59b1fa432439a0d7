import { Button } from '@mantine/core'
import { useAction, useGet } from '../../ui/api.tsx'
import { Form } from '../../ui/form.tsx'
import { formatCount } from '../../ui/format.ts'
import { usePageLocation } from '../../ui/router.tsx'
import { Panel } from '../../ui/shell.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Status, type Tone } from '../../ui/status.tsx'
import { DataTable, type Column, textColumn, timeColumn } from '../../ui/table.tsx'
import { Text } from '../../ui/text.tsx'
import { OnChain, Time } from '../../ui/values.tsx'
import type { GapJson } from '../../../admin/health.ts'
import type { FoundReconcileJson, ReconcileJson } from '../../../admin/reconcile.ts'
import { useIsOperator } from '../role.ts'

type Candidate = ReconcileJson['candidates'][number]

const tones: Readonly<Record<ReconcileJson['state'], Tone>> = {
  running: 'info',
  done: 'good',
  failed: 'bad',
  cancelled: 'neutral',
}

const columns: readonly Column<Candidate>[] = [
  textColumn('Trade', 'summary', { isName: true }),
  timeColumn('Traded', 'traded_at'),
  textColumn('Network', 'network', { width: '8rem' }),
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

/** Compares the trades of the upstream with stored events. */
export function ReconcilePanel({ gaps }: { readonly gaps: readonly GapJson[] }) {
  const query = useGet<FoundReconcileJson>('/reconcile', {
    pollMs: (data) => (data?.reconcile?.state === 'running' ? 1_500 : 15_000),
  })
  return (
    <Panel title="Reconcile" note="trades of known wallets; alerts can’t be reconciled">
      <Loaded query={query} rows={2}>
        {({ configured, reconcile }) => (
          <>
            {configured ? (
              reconcile?.state !== 'running' && <Start gaps={gaps} />
            ) : (
              <p>
                Set <code>INBOX_API_URL</code> and <code>INBOX_API_KEY</code>, and restart.
              </p>
            )}
            {reconcile !== null && <Reconciled reconcile={reconcile} />}
            {reconcile === null && configured && <p className="ui-dim">Nothing reconciled since the start.</p>}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Start({ gaps }: { readonly gaps: readonly GapJson[] }) {
  const { parameters } = usePageLocation()
  if (!useIsOperator()) return null
  // The span of the address, else of the latest downtime.
  const span = gaps[0]?.lost ?? gaps[0]
  const from = toField(parameters['from'] ?? span?.from, Math.floor)
  const to = toField(parameters['to'] ?? span?.to, Math.ceil)
  return (
    <Form
      key={`${from} ${to}`}
      isRow
      submit="Find missing trades"
      fields={[
        { name: 'from', label: 'From (UTC)', initial: from, isTime: true },
        { name: 'to', label: 'To (UTC)', initial: to, isTime: true },
      ]}
      run={async ({ api, value }) => {
        await api.send('POST', '/reconcile', { from: toMoment(value('from')), to: toMoment(value('to')) })
      }}
    />
  )
}

function Reconciled({ reconcile }: { readonly reconcile: ReconcileJson }) {
  const cancel = useAction((api) => api.send('POST', '/reconcile/cancel'))
  const isOperator = useIsOperator()
  const { state, from, to, error, notes, candidates, candidate_count: count } = reconcile
  const shown = count > candidates.length ? `, the first ${formatCount(candidates.length)} shown` : ''
  return (
    <div className="ui-stack" role="group" aria-label="Latest reconcile">
      <span className="ui-row">
        <Status tone={tones[state]}>{state}</Status>
        <span>
          <Time at={from} /> to <Time at={to} /> UTC
        </span>
        <span className="ui-dim">
          {formatCount(reconcile.wallets_done)} of {formatCount(reconcile.wallets)} wallets,{' '}
          {formatCount(reconcile.trades)} trades, {formatCount(reconcile.requests)} requests
        </span>
        {isOperator && state === 'running' && (
          <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
            Cancel
          </Button>
        )}
      </span>
      {error !== null && (
        <p className="ui-text-bad">
          <Text value={error} />
        </p>
      )}
      {notes.map((note) => (
        <p key={note} className="ui-dim">
          <Text value={note} />
        </p>
      ))}
      <p>
        {count === 0
          ? 'Every trade is named by a stored event.'
          : `${formatCount(count)} trades without an event${shown}`}
      </p>
      {candidates.length > 0 && (
        <DataTable
          caption="Trades without an event"
          columns={columns}
          rows={candidates}
          rowKey={({ network, wallet, tx_hash: tx }) => JSON.stringify([network, wallet, tx])}
        />
      )}
    </div>
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
