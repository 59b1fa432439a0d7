import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { LongText } from '../../ui/long-text.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import { useStreamState } from '../../ui/use-stream.ts'
import type { ReplicaJson, SecretUseJson, SettingsJson } from '../contract.ts'
import { useChanged } from '../parts/bulk-list.ts'
import { SecretsPanel } from '../parts/health-secrets.tsx'
import { SettingsTable } from '../parts/settings-table.tsx'
import '../parts/overview.css'

/** What is set, which secrets are used, and which processes work on the store. Nothing can be changed here. */
export function SettingsPage() {
  const { data, error, reload } = useApi<SettingsJson>('/settings')
  const secrets = useApi<{ readonly data: readonly SecretUseJson[] }>('/secrets')
  const replicas = useApi<{ readonly data: readonly ReplicaJson[] }>('/replicas')
  // Secrets are read again while it runs; a process that was away may have come back with other settings.
  useChanged('health', secrets.reload)
  useStreamState(() => {
    reload()
    replicas.reload()
  })
  return (
    <Page
      title="Settings"
      about="What is set, which secrets are used, and which processes there are. They are changed where they were set."
    >
      <ErrorState error={error} onRetry={reload} />
      {data === null ? (
        error === null && <LoadingState what="the settings" />
      ) : (
        <SettingsTable settings={data.settings} />
      )}
      <SecretsPanel secrets={secrets.data?.data ?? null} error={secrets.error} onRetry={secrets.reload} />
      <Panel title="Replicas" about="Processes that work on this store.">
        <DataTable
          caption="Replicas"
          rows={replicas.data?.data ?? null}
          error={replicas.error}
          onRetry={replicas.reload}
          rowKey={({ id }) => id}
          empty={<EmptyState title="No replicas">One process alone works on a SQLite file.</EmptyState>}
          columns={columns}
        />
      </Panel>
    </Page>
  )
}

const columns = [
  { header: 'Replica', isName: true, cell: ({ id }: ReplicaJson) => <LongText value={id} /> },
  { header: 'What it is', cell: (replica: ReplicaJson) => <LongText value={wordsOf(replica)} /> },
  { header: 'Version', cell: ({ version }: ReplicaJson) => <LongText value={version} /> },
  { header: 'Started (UTC)', cell: ({ started_at: at }: ReplicaJson) => <Time at={at} /> },
  { header: 'Seen (UTC)', cell: ({ seen_at: at }: ReplicaJson) => <Time at={at} /> },
  { header: 'Load', cell: ({ load }: ReplicaJson) => <LongText value={loadInWords(load)} /> },
]

function wordsOf({ alive, self, leader }: ReplicaJson): string {
  if (!alive) return 'silent'
  return [self ? 'this one' : 'alive', ...(leader ? ['leads'] : [])].join(', ')
}

const bytesEnding = '_bytes'

function loadInWords(load: ReplicaJson['load']): string {
  return Object.entries(load)
    .map(([name, value]) =>
      name.endsWith(bytesEnding)
        ? `${name.slice(0, -bytesEnding.length)} ${formatBytes(value)}`
        : `${name} ${formatNumber(value)}`,
    )
    .join(', ')
}
