import { useGet } from '../../ui/api.tsx'
import { formatBytes, formatCount, formatNumber } from '../../ui/format.ts'
import { TextFilter } from '../../ui/list.tsx'
import { usePlace } from '../../ui/router.tsx'
import { Facts, Panel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { TabbedPage } from '../../ui/tabs.tsx'
import { Line, Text } from '../../ui/text.tsx'
import { Age, Time } from '../../ui/values.tsx'
import type { OverviewJson, ReplicaJson, SecretUseJson, SettingsJson } from '../contract.ts'
import { AuditList } from './audit.tsx'

type Setting = SettingsJson['settings'][number]

export function SystemPage({ tab }: { readonly tab: string | undefined }) {
  return (
    <TabbedPage
      title="System"
      path="/system"
      tab={tab}
      tabs={[
        { path: '', label: 'Settings', content: () => <Settings /> },
        { path: 'secrets', label: 'Secrets', content: () => <Secrets /> },
        { path: 'replicas', label: 'Replicas', content: () => <Replicas /> },
        { path: 'audit', label: 'Audit', content: () => <AuditList /> },
        { path: 'database', label: 'Database', content: () => <Database /> },
      ]}
    />
  )
}

const settingColumns: readonly Column<Setting>[] = [
  {
    header: 'Setting',
    width: '30%',
    isName: true,
    cell: ({ name, variables }) => (
      <>
        <Line value={name} max={60} />{' '}
        <code className="ui-dim">
          <Line value={variables.join(' ')} max={120} />
        </code>
      </>
    ),
  },
  {
    header: 'Value',
    cell: ({ value, secret }) => (
      <span className={secret ? 'ui-dim' : undefined}>
        <Text value={value} max={120} />
      </span>
    ),
  },
  { header: 'Source', width: '7rem', cell: ({ source }) => source },
  {
    header: 'Default',
    width: '14rem',
    cell: ({ default: own }) => (
      <span className="ui-dim">
        <Line value={own} max={80} fallback="none" />
      </span>
    ),
  },
]

/** Read at the start. Values of secrets are never shown. */
function Settings() {
  const place = usePlace()
  const query = useGet<SettingsJson>('/settings')
  const { q = '' } = place.parameters
  return (
    <Loaded query={query} rows={12}>
      {({ settings }) => {
        const rows = settings.filter(({ name, variables }) =>
          `${name} ${variables.join(' ')}`.toLowerCase().includes(q.toLowerCase()),
        )
        return (
          <div className="ui-list">
            <div className="ui-bar">
              <TextFilter label="Name" value={q} onChange={(value) => place.go({ q: value }, { replace: true })} />
              <span className="ui-dim">{formatCount(rows.length)} settings</span>
            </div>
            {rows.length === 0 ? (
              <Empty title="No setting has this name" />
            ) : (
              <DataTable isMain caption="Settings" columns={settingColumns} rows={rows} rowKey={({ name }) => name} />
            )}
          </div>
        )
      }}
    </Loaded>
  )
}

const secretColumns: readonly Column<SecretUseJson>[] = [
  { header: 'Label', isName: true, cell: ({ label }) => <Line value={label} /> },
  {
    header: 'State',
    width: '8rem',
    cell: ({ configured, last_used_at: last }) => {
      if (!configured) return <Status>removed</Status>
      return last === null ? <Status tone="warning">never used</Status> : <Status tone="good">in use</Status>
    },
  },
  { header: 'First used', width: '11rem', cell: ({ first_used_at: at }) => <Time at={at} /> },
  { header: 'Last used', width: '11rem', cell: ({ last_used_at: at }) => <Time at={at} /> },
  { header: 'Events', width: '8rem', isNumber: true, cell: ({ events }) => formatCount(events) },
]

function Secrets() {
  const query = useGet<{ readonly data: readonly SecretUseJson[] }>('/secrets')
  return (
    <Panel title="Secrets" note="after a rotation, remove the old one once it is unused" isFlush>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No secrets">
              Set <code>INBOX_SECRETS</code> or <code>INBOX_SECRETS_FILE</code>.
            </Empty>
          ) : (
            <DataTable caption="Secrets" columns={secretColumns} rows={data} rowKey={({ label }) => label} />
          )
        }
      </Loaded>
    </Panel>
  )
}

const replicaColumns: readonly Column<ReplicaJson>[] = [
  { header: 'Replica', isName: true, cell: ({ id }) => <Line value={id} max={80} /> },
  {
    header: 'State',
    width: '11rem',
    cell: ({ alive, self, leader }) => (
      <span className="ui-row">
        <Status tone={alive ? 'good' : 'bad'}>{alive ? 'alive' : 'silent'}</Status>
        {self && <Status>this one</Status>}
        {leader && <Status tone="info">leader</Status>}
      </span>
    ),
  },
  { header: 'Version', width: '7rem', cell: ({ version }) => <Line value={version} max={40} /> },
  { header: 'Started', width: '11rem', cell: ({ started_at: at }) => <Time at={at} /> },
  { header: 'Seen', width: '6rem', isNumber: true, cell: ({ seen_at: at }) => <Age at={at} /> },
  { header: 'Load', cell: ({ load }) => <Line value={loadText(load)} fallback="not reported" /> },
]

function loadText(load: ReplicaJson['load']): string {
  const parts = Object.entries(load).map(([name, value]) =>
    name.endsWith('_bytes')
      ? `${name.slice(0, -'_bytes'.length)} ${formatBytes(value)}`
      : `${name} ${formatNumber(value)}`,
  )
  return parts.join(', ')
}

function Replicas() {
  const query = useGet<{ readonly data: readonly ReplicaJson[] }>('/replicas', { pollMs: 10_000 })
  return (
    <Panel title="Replicas" note="processes that share the store" isFlush>
      <Loaded query={query}>
        {({ data }) => <DataTable caption="Replicas" columns={replicaColumns} rows={data} rowKey={({ id }) => id} />}
      </Loaded>
    </Panel>
  )
}

function Database() {
  const query = useGet<OverviewJson>('/overview')
  return (
    <Panel title="Database">
      <Loaded query={query}>
        {(overview) => (
          <Facts
            facts={[
              ['Size', formatBytes(overview.store_bytes)],
              ['Events stored', `${formatCount(overview.events)} since the first`],
              ['Open runs', formatCount(overview.open_runs)],
              ['Dead letters', formatCount(overview.dead_letters)],
              ['Blocked keys', formatCount(overview.held)],
              ['Quarantine', formatCount(overview.quarantined)],
              ['Conflicts', formatCount(overview.conflicts)],
            ]}
          />
        )}
      </Loaded>
      <p className="ui-dim">
        Prune with <code>onchain-inbox prune</code>, or set <code>INBOX_RETENTION_DAYS</code>. Back up with{' '}
        <code>onchain-inbox backup</code>.
      </p>
    </Panel>
  )
}
