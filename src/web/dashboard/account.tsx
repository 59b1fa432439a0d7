import type { Scope } from '../../../schema/rest/scopes.ts'
import { Action } from '../ui/action.tsx'
import { useGet, type ListJson } from '../ui/api.tsx'
import { shortAddress } from '../ui/format.ts'
import { namesOf, networks } from '../ui/names.ts'
import { Page, Panel } from '../ui/shell.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import { DataTable, type Column } from '../ui/table.tsx'
import { Line, shortText } from '../ui/text.tsx'
import { OnChain, Time } from '../ui/values.tsx'
import type { Account, ApiKey, Thresholds, World } from './contract.ts'
import { accountField, Form, FormAction, given, Secret, toNumber } from './form.tsx'

const scopes: Readonly<Record<Scope, string>> = {
  'read:wallets': 'All wallet endpoints',
  'write:alerts': 'Create, read and delete alerts',
  'read:tokens': 'Read and search tokens',
  'write:webhooks': 'Create, read, change and delete webhooks',
}
const scopeNames = namesOf(scopes)

/** Accounts with their API keys (R67, R68), tracked wallets and thresholds (A34). */
export function AccountPage() {
  const accounts = useGet<ListJson<Account>>('/accounts')
  const thresholds = useGet<Thresholds>('/thresholds')
  const world = useGet<World>('/world')
  return (
    <Page title="Account">
      <Panel
        title="API keys"
        isFlush
        note={accounts.data?.data.map(({ name, plan }) => `${shortText(name, 30)}: plan ${plan}`).join(', ')}
        actions={<CreateKey accounts={accounts.data?.data ?? []} />}
      >
        <Loaded query={accounts}>{({ data }) => <Keys accounts={data} />}</Loaded>
      </Panel>
      <Panel title="Thresholds" note="When the world sends an event">
        <Loaded query={thresholds}>{(data) => <ThresholdForm thresholds={data} />}</Loaded>
      </Panel>
      <Panel title="Tracked wallets" note="Their large trades and milestones are events">
        <Form
          isRow
          submit="Track wallet"
          fields={[
            { name: 'network', label: 'Network', choices: networks },
            { name: 'wallet', label: 'Wallet address' },
          ]}
          run={async (api, value) => {
            await api.send('POST', '/world/track', {
              network: value('network'),
              wallet: value('wallet'),
              isTracked: true,
            })
            return 'Tracked.'
          }}
        />
        <Loaded query={world}>{({ trackedWallets }) => <Tracked wallets={trackedWallets} />}</Loaded>
      </Panel>
    </Page>
  )
}

function CreateKey({ accounts }: { readonly accounts: readonly Account[] }) {
  const [first] = accounts
  if (first === undefined) return null
  return (
    <FormAction
      isPrimary
      label="Create key"
      submit="Create key"
      fields={[
        ...accountField(accounts),
        { name: 'name', label: 'Name' },
        {
          name: 'scopes',
          label: 'Scopes',
          isMany: true,
          initial: scopeNames.join(' '),
          choices: scopeNames.map((value) => ({ value, label: value, description: scopes[value] })),
        },
      ]}
      run={async (api, value) => {
        const chosen = value('scopes').split(' ').filter(Boolean)
        const body = { account: first.accountId, ...given(value, 'account'), name: value('name'), scopes: chosen }
        const key = await api.send<{ readonly value: string }>('POST', '/keys', body)
        return <Secret value={key.value} what="API key" />
      }}
    />
  )
}

function Keys({ accounts }: { readonly accounts: readonly Account[] }) {
  const keys = accounts.flatMap((account) => account.keys)
  const columns: readonly Column<ApiKey>[] = [
    { header: 'Name', isName: true, cell: ({ name }) => <Line value={name} /> },
    { header: 'Scopes', cell: ({ scopes: own }) => own.join(', ') },
    { header: 'Created (UTC)', width: '10rem', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { header: 'State', width: '6rem', narrow: 'plain', cell: ({ revokedAt }) => <KeyState revokedAt={revokedAt} /> },
    {
      header: 'Action',
      width: '7rem',
      narrow: 'plain',
      cell: (key) => key.revokedAt === null && <Revoke apiKey={key} />,
    },
  ]
  if (keys.length === 0) return <Empty title="No keys yet">Create one to call the REST API.</Empty>
  return <DataTable caption="API keys" columns={columns} rows={keys} rowKey={({ keyId }) => keyId} />
}

function KeyState({ revokedAt }: Pick<ApiKey, 'revokedAt'>) {
  return <Status tone={revokedAt === null ? 'good' : 'neutral'}>{revokedAt === null ? 'active' : 'revoked'}</Status>
}

function Revoke({ apiKey: { keyId, name } }: { readonly apiKey: ApiKey }) {
  const shown = shortText(name)
  return (
    <Action
      label="Revoke"
      name={`Revoke ${shown}`}
      title={`Revoke ${shown}?`}
      isDangerous
      run={async ({ api }) => void (await api.send('DELETE', `/keys/${encodeURIComponent(keyId)}`))}
    >
      Requests with this key are rejected from now on. This can’t be undone.
    </Action>
  )
}

function ThresholdForm({ thresholds }: { readonly thresholds: Thresholds }) {
  return (
    <Form
      isRow
      submit="Save thresholds"
      fields={[
        {
          name: 'largeTrade',
          label: 'Large trade (USD)',
          description: 'wallet.large_trade',
          initial: String(thresholds.largeTradeUsd),
        },
        {
          name: 'milestones',
          label: 'Milestones (USD)',
          description: 'wallet.pnl_milestone',
          initial: thresholds.milestonesUsd.join(', '),
        },
        {
          name: 'risk',
          label: 'Risk change (points)',
          description: 'token.risk_change',
          initial: String(thresholds.riskSensitivity),
        },
      ]}
      run={async (api, value) => {
        await api.send('POST', '/world/thresholds', {
          largeTradeUsd: toNumber(value('largeTrade')),
          milestonesUsd: value('milestones')
            .split(/[\s,;]+/)
            .filter(Boolean)
            .map(toNumber),
          riskSensitivity: toNumber(value('risk')),
        })
        return 'Saved.'
      }}
    />
  )
}

type Wallet = World['trackedWallets'][number]

const walletColumns: readonly Column<Wallet>[] = [
  {
    header: 'Wallet',
    isName: true,
    cell: ({ network, address }) => <OnChain kind="address" network={network} value={address} />,
  },
  { header: 'Network', cell: ({ network }) => network },
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

function Tracked({ wallets }: { readonly wallets: readonly Wallet[] }) {
  if (wallets.length === 0) return <Empty title="No tracked wallets">Track one to get events of its trades.</Empty>
  const keyOf = ({ network, address }: Wallet) => `${network} ${address}`
  return <DataTable caption="Tracked wallets" columns={walletColumns} rows={wallets} rowKey={keyOf} />
}
