import { Action } from '../ui/action.tsx'
import { useGet, type ListJson } from '../ui/api.tsx'
import { textColumn, timeColumn, type Column } from '../ui/table.tsx'
import { filledIn, toList, type Field, type ValueOf } from '../ui/form.tsx'
import { List } from '../ui/list.tsx'
import { eventTypes } from '../../../schema/names.ts'
import { Page } from '../ui/shell.tsx'
import { Empty } from '../ui/states.tsx'
import { Line, shortText } from '../ui/text.tsx'
import type { Account, Webhook } from './contract.ts'
import { deliveriesColumn } from './deliveries/deliveries.tsx'
import { accountField, Secret } from './fields.tsx'

const columns: readonly Column<Webhook>[] = [
  textColumn('URL', 'url', { isName: true }),
  {
    header: 'Events',
    width: '12rem',
    cell: ({ events }) => <Line value={events.includes('*') ? 'all' : events.join(', ')} />,
  },
  { header: 'Account', width: '8rem', cell: ({ accountId }) => <AccountName id={accountId} /> },
  timeColumn('Created (UTC)', 'createdAt', { isOptional: true }),
  deliveriesColumn(({ webhookId }) => webhookId),
  { header: 'Actions', width: '13rem', narrow: 'plain', cell: (webhook) => <Actions webhook={webhook} /> },
]

function AccountName({ id }: { readonly id: string }) {
  const accounts = useGet<ListJson<Account>>('/accounts').data?.data
  return <Line value={accounts?.find(({ accountId }) => accountId === id)?.name} />
}

/** Endpoints of events (R60, R62). The secret of a new one is shown once (R76). */
export function WebhooksPage() {
  const accounts = useGet<ListJson<Account>>('/accounts').data?.data
  return (
    <Page
      title="Webhooks"
      actions={
        <Action
          isPrimary
          label="Add webhook"
          fields={[...accountField(accounts), ...webhookFields(null)]}
          run={async ({ api, value }) => {
            const body = { ...filledIn(value, 'account'), ...webhookBody(value) }
            const { secret } = await api.send<{ readonly secret?: string }>('POST', '/webhooks', body)
            if (secret !== undefined) return <Secret value={secret} label="webhook secret" />
          }}
        />
      }
    >
      <List
        caption="Webhooks"
        path="/webhooks"
        matches={() => true}
        rowKey={({ webhookId }: Webhook) => webhookId}
        columns={columns}
        empty={<Empty title="No webhooks yet">Add one, and events are posted to it as they arise.</Empty>}
      />
    </Page>
  )
}

/** Fields of a new webhook (null), or of a change. */
function webhookFields(webhook: Webhook | null): readonly Field[] {
  return [
    { name: 'url', label: 'URL', description: 'https, or http on this machine', initial: webhook?.url ?? '' },
    {
      name: 'events',
      label: 'Events',
      isMany: true,
      initial: webhook?.events.join(' ') ?? '*',
      choices: [{ value: '*', label: 'All, and types to come' }, ...eventTypes],
    },
    {
      name: 'secret',
      label: webhook === null ? 'Secret' : 'New secret',
      description: webhook === null ? 'Generated if empty' : 'Unchanged if empty',
      isOptional: true,
    },
  ]
}

function webhookBody(value: ValueOf): object {
  const events = toList(value('events'))
  return { url: value('url'), events: events.includes('*') ? ['*'] : events, ...filledIn(value, 'secret') }
}

function Actions({ webhook }: { readonly webhook: Webhook }) {
  const url = shortText(webhook.url, 300)
  const path = `/webhooks/${encodeURIComponent(webhook.webhookId)}`
  return (
    <span className="ui-row">
      <Action
        label="Change"
        name={`Change ${url}`}
        submit="Save"
        fields={webhookFields(webhook)}
        run={async ({ api, value }) => void (await api.send('PATCH', path, webhookBody(value)))}
      />
      <Action
        label="Delete"
        name={`Delete ${url}`}
        title="Delete this webhook?"
        isDangerous
        run={async ({ api }) => void (await api.send('DELETE', path))}
      >
        <bdi>{url}</bdi> gets no more events. Its pending retries are cancelled.
      </Action>
    </span>
  )
}
