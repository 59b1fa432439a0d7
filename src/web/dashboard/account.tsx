import { networkIds } from '../../../schema/names.ts'
import { scopeNames, scopes } from '../../../schema/rest/routes.ts'
import { Action } from '../ui/action.tsx'
import { useGet, type ListJson } from '../ui/api.tsx'
import { textColumn, timeColumn, DataTable, type Column } from '../ui/table.tsx'
import { filledIn, toList, Form, type Field } from '../ui/form.tsx'
import { shortAddress } from '../ui/format.ts'
import { Page, Panel } from '../ui/shell.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import { shortText } from '../ui/text.tsx'
import { OnChain } from '../ui/values.tsx'
import type { Account, ApiKey, World } from './contract.ts'
import { accountField, Secret } from './fields.tsx'

/** API keys of all accounts (R67, R68), and tracked wallets. */
export function AccountPage() {
  const accounts = useGet<ListJson<Account>>('/accounts')
  const world = useGet<World>('/world')
  return (
    <Page title="Account">
      <Panel
        title="API keys"
        isFlush
        note={accounts.data?.data.map(({ name, plan }) => `${shortText(name, 30)}: plan ${plan}`).join(', ')}
        actions={<CreateKey accounts={accounts.data?.data ?? []} />}
      >
        <Loaded query={accounts}>
          {({ data }) => (
            <DataTable
              caption="API keys"
              columns={keyColumns}
              rows={data.flatMap((account) => account.keys)}
              rowKey={({ keyId }) => keyId}
              empty={<Empty title="No keys yet">Create one to call the REST API.</Empty>}
            />
          )}
        </Loaded>
      </Panel>
      <Panel title="Tracked wallets" note="Their large trades and milestones are events">
        <Form
          isRow
          submit="Track wallet"
          fields={[
            { name: 'network', label: 'Network', choices: networkIds },
            { name: 'wallet', label: 'Wallet address' },
          ]}
          run={async ({ api, value }) => {
            await api.send('POST', '/world/track', { ...filledIn(value, 'network', 'wallet'), isTracked: true })
            return 'Tracked.'
          }}
        />
        <Loaded query={world}>
          {({ trackedWallets }) => (
            <DataTable
              caption="Tracked wallets"
              columns={walletColumns}
              rows={trackedWallets}
              rowKey={({ network, address }) => `${network} ${address}`}
              empty={<Empty title="No tracked wallets">Track one to get events of its trades.</Empty>}
            />
          )}
        </Loaded>
      </Panel>
    </Page>
  )
}

const keyFields: readonly Field[] = [
  { name: 'name', label: 'Name' },
  {
    name: 'scopes',
    label: 'Scopes',
    isMany: true,
    initial: scopeNames.join(' '),
    choices: scopeNames.map((value) => ({ value, label: value, description: scopes[value] })),
  },
]

function CreateKey({ accounts }: { readonly accounts: readonly Account[] }) {
  const [first] = accounts
  if (first === undefined) return null
  return (
    <Action
      isPrimary
      label="Create key"
      fields={[...accountField(accounts), ...keyFields]}
      run={async ({ api, value }) => {
        const body = {
          account: first.accountId,
          ...filledIn(value, 'account', 'name'),
          scopes: toList(value('scopes')),
        }
        const key = await api.send<{ readonly value: string }>('POST', '/keys', body)
        return <Secret value={key.value} label="API key" />
      }}
    />
  )
}

const keyColumns: readonly Column<ApiKey>[] = [
  textColumn('Name', 'name', { isName: true }),
  { header: 'Scopes', cell: (key) => key.scopes.join(', ') },
  timeColumn('Created (UTC)', 'createdAt'),
  {
    header: 'State',
    width: '6rem',
    narrow: 'plain',
    cell: ({ revokedAt }) =>
      revokedAt === null ? <Status tone="good">active</Status> : <Status tone="neutral">revoked</Status>,
  },
  {
    header: 'Action',
    width: '7rem',
    narrow: 'plain',
    cell: ({ keyId, name, revokedAt }) =>
      revokedAt === null && (
        <Action
          label="Revoke"
          name={`Revoke ${shortText(name)}`}
          title={`Revoke ${shortText(name)}?`}
          isDangerous
          run={async ({ api }) => void (await api.send('DELETE', `/keys/${encodeURIComponent(keyId)}`))}
        >
          Requests with this key are rejected from now on. This can’t be undone.
        </Action>
      ),
  },
]

const walletColumns: readonly Column<World['trackedWallets'][number]>[] = [
  {
    header: 'Wallet',
    isName: true,
    cell: ({ network, address }) => <OnChain kind="address" network={network} value={address} />,
  },
  textColumn('Network', 'network'),
  {
    header: 'Action',
    width: '8rem',
    narrow: 'plain',
    cell: ({ network, address }) => (
      <Action
        label="Untrack"
        name={`Untrack ${shortAddress(address)}`}
        title="Untrack this wallet?"
        run={async ({ api }) =>
          void (await api.send('POST', '/world/track', { network, wallet: address, isTracked: false }))
        }
      >
        Its trades send no more events.
      </Action>
    ),
  },
]
