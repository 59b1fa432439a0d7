import { Link } from 'wouter'
import { Action } from '../ui/action.tsx'
import { useGet, type ListJson } from '../ui/api.tsx'
import type { Field, ValueOf } from '../ui/form.tsx'
import { List } from '../ui/list.tsx'
import { eventTypes } from '../ui/names.ts'
import { Page } from '../ui/shell.tsx'
import { Empty } from '../ui/states.tsx'
import type { Column } from '../ui/table.tsx'
import { Line, shortText } from '../ui/text.tsx'
import { Time } from '../ui/values.tsx'
import type { Account, Webhook } from './contract.ts'
import { accountField, filledIn, Secret, toList } from './fields.tsx'

const isForAll = ({ events }: Webhook) => events.includes('*')

const columns: readonly Column<Webhook>[] = [
  { header: 'URL', isName: true, cell: ({ url }) => <Line value={url} /> },
  { header: 'Events', cell: (webhook) => <Line value={isForAll(webhook) ? 'all' : webhook.events.join(', ')} /> },
  { header: 'Account', width: '8rem', cell: ({ accountId }) => <AccountName id={accountId} /> },
  { header: 'Created (UTC)', width: '10rem', isOptional: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    header: 'Deliveries',
    width: '6rem',
    narrow: 'plain',
    cell: ({ webhookId }) => <Link href={`/deliveries?endpoint=${encodeURIComponent(webhookId)}`}>Deliveries</Link>,
  },
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
      isFilling
      actions={
        <Action
          isPrimary
          label="Add webhook"
          fields={(value) => [...accountField(accounts), ...webhookFields(value, null)]}
          run={async ({ api, value }) => {
            const body = { ...filledIn(value, 'account'), ...webhookBody(value) }
            const { secret } = await api.send<{ readonly secret?: string }>('POST', '/webhooks', body)
            if (secret !== undefined) return <Secret value={secret} what="webhook secret" />
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
function webhookFields(value: ValueOf, webhook: Webhook | null): readonly Field[] {
  const which = webhook === null || isForAll(webhook) ? 'all' : 'some'
  const types: Field = {
    name: 'events',
    label: 'Event types',
    choices: eventTypes,
    isMany: true,
    initial: which === 'some' ? (webhook?.events.join(' ') ?? '') : '',
  }
  return [
    { name: 'url', label: 'URL', description: 'https, or http on this machine', initial: webhook?.url ?? '' },
    {
      name: 'which',
      label: 'Events',
      initial: which,
      choices: [
        { value: 'all', label: 'All, and types to come' },
        { value: 'some', label: 'Some types' },
      ],
    },
    ...((value('which') || which) === 'some' ? [types] : []),
    {
      name: 'secret',
      label: webhook === null ? 'Secret' : 'New secret',
      description: webhook === null ? 'Generated if empty' : 'Unchanged if empty',
      isOptional: true,
    },
  ]
}

function webhookBody(value: ValueOf): object {
  const events = value('which') === 'all' ? ['*'] : toList(value('events'))
  return { url: value('url'), events, ...filledIn(value, 'secret') }
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
        fields={(value) => webhookFields(value, webhook)}
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
