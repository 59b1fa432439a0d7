import { useGet } from '../../ui/api.tsx'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { DataTable, type Column, ageColumn, codeColumn, countColumn, textColumn, timeColumn } from '../../ui/table.tsx'
import { TabbedPage } from '../../ui/tabs.tsx'
import { Line, Text, shortText } from '../../ui/text.tsx'
import type { ReplicaJson, SecretUseJson, SettingsJson, AuditJson } from '../../../admin/health.ts'
import type { OverviewJson } from '../../../admin/overview.ts'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/values.tsx'

type Setting = SettingsJson['settings'][number]

export const systemTabs = [
  { path: '', label: 'Settings', content: () => <Settings /> },
  { path: 'secrets', label: 'Secrets', content: () => <Secrets /> },
  { path: 'replicas', label: 'Replicas', content: () => <Replicas /> },
  { path: 'audit', label: 'Audit', content: () => <AuditList /> },
]

export function SystemPage({ tab }: { readonly tab: string | undefined }) {
  return <TabbedPage title="System" path="/system" tab={tab} tabs={systemTabs} />
}

const settingColumns: readonly Column<Setting>[] = [
  codeColumn('Setting', 'name', { width: '17rem', isName: true }),
  { header: 'Value', cell: ({ value }) => <Text value={value} max={120} /> },
  textColumn('Origin', 'origin', { width: '7rem' }),
  { header: 'Default', width: '14rem', cell: ({ default: own }) => <Line value={own} max={80} fallback="none" /> },
]

/** Read at the start. Values of secrets are never shown. */
function Settings() {
  const query = useGet<SettingsJson>('/settings')
  const { data: overview } = useGet<OverviewJson>('/overview')
  return (
    <Panel title="Settings" note={`database: ${formatBytes(overview?.store_bytes)}`} isFlush>
      <Loaded query={query} rows={12}>
        {({ settings }) => (
          <DataTable caption="Settings" columns={settingColumns} rows={settings} rowKey={({ name }) => name} />
        )}
      </Loaded>
    </Panel>
  )
}

const secretColumns: readonly Column<SecretUseJson>[] = [
  textColumn('Label', 'label', { isName: true }),
  {
    header: 'State',
    width: '8rem',
    cell: ({ configured, last_used_at: last }) => {
      if (!configured) return <Status>removed</Status>
      return last === null ? <Status tone="warning">never used</Status> : <Status tone="good">in use</Status>
    },
  },
  timeColumn('First used', 'first_used_at'),
  timeColumn('Last used', 'last_used_at'),
  countColumn('Events', 'events', { width: '8rem' }),
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
  textColumn('Replica', 'id', { isName: true }),
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
  textColumn('Version', 'version', { width: '7rem' }),
  timeColumn('Started', 'started_at'),
  ageColumn('Seen', 'seen_at'),
]

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

const columns: readonly Column<AuditJson>[] = [
  timeColumn('Time (UTC)', 'at', { width: '10.5rem' }),
  textColumn('Action', 'action', { width: '12rem', isName: true }),
  { header: 'Detail', cell: ({ detail }) => <Line value={detailText(detail)} max={200} fallback="" /> },
  { header: 'By', width: '16rem', cell: ({ by }) => <Line value={by} fallback="the inbox" /> },
  textColumn('User agent', 'user_agent', { width: '14rem', isOptional: true }),
]

/** Actions of operators, newest first. */
function AuditList() {
  return (
    <List
      caption="Audit"
      path="/audit"
      rowKey={({ id }: AuditJson) => String(id)}
      columns={columns}
      detail={{
        label: 'Action',
        render: (_id, row) =>
          row === undefined ? <Empty title="Not among the loaded actions" /> : <Entry entry={row} />,
      }}
      empty={<Empty title="No actions yet">Sign-ins, and everything an operator changes, appear here.</Empty>}
    />
  )
}

function Entry({ entry: { at, action, detail, by, user_agent: userAgent } }: { readonly entry: AuditJson }) {
  return (
    <Facts
      facts={{
        Action: action,
        'Time (UTC)': <Time at={at} />,
        By: by ?? 'the inbox',
        'User agent': userAgent,
        ...Object.fromEntries(Object.entries(detail).map(([name, value]) => [shortText(name, 60), valueText(value)])),
      }}
    />
  )
}

function detailText(detail: AuditJson['detail']): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(', ')
}

function valueText(value: unknown): string {
  if (Array.isArray(value) && value.length > 20) return `${formatCount(value.length)} items`
  return typeof value === 'string' ? value : JSON.stringify(value)
}
