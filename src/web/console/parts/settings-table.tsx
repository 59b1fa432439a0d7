import { Group, NativeSelect } from '@mantine/core'
import { DataTable } from '../../ui/data-table.tsx'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { LongText } from '../../ui/long-text.tsx'
import { Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { queryOf } from '../api-client.ts'
import type { SettingsJson } from '../contract.ts'
import { NameFilter } from './handlers-name-filter.tsx'

type Setting = SettingsJson['settings'][number]

const sources: Readonly<Record<Setting['source'], string>> = {
  default: 'default',
  environment: 'environment',
  file: 'file',
  config: 'config file',
}

/** What is set and where that was said, by name. */
export function SettingsTable({ settings }: { readonly settings: readonly Setting[] }) {
  const { query } = useLocation()
  const filter = { q: query.get('q') ?? '', show: query.get('show') ?? '' }
  const change = (part: Partial<typeof filter>) =>
    goTo(`/settings${queryOf({ ...filter, ...part })}`, { replace: true })
  const rows = settings.filter(
    ({ name, source }) =>
      name.toLowerCase().includes(filter.q.toLowerCase()) && (filter.show !== 'set' || source !== 'default'),
  )
  return (
    <Panel title="Settings" about="As they were read at the start. Of what is secret only whether it is set.">
      <Group gap="sm">
        <NameFilter value={filter.q} onChange={(q) => change({ q })} />
        <NativeSelect
          label="Show"
          data={[
            { value: '', label: 'All' },
            { value: 'set', label: 'What somebody set' },
          ]}
          value={filter.show}
          onChange={(event) => change({ show: event.currentTarget.value })}
        />
      </Group>
      <DataTable
        caption="Settings"
        rows={rows}
        rowKey={({ name }) => name}
        empty={<EmptyState title="No such settings">Show all of them, or change the name.</EmptyState>}
        columns={columns}
      />
    </Panel>
  )
}

const columns = [
  {
    header: 'Name',
    isName: true,
    cell: ({ name }: Setting) => (
      <span className="ui-mono">
        <LongText value={name} />
      </span>
    ),
  },
  {
    header: 'Value',
    cell: ({ value, secret }: Setting) => (
      <span className={secret ? 'ui-dimmed' : ''}>
        <LongText value={value} />
      </span>
    ),
  },
  { header: 'From', cell: ({ source }: Setting) => sources[source] },
]
