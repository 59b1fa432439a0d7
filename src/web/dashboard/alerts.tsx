import type { AlertType } from '../../../schema/rest/alert.ts'
import { Action } from '../ui/action.tsx'
import { useGet, type ListJson } from '../ui/api.tsx'
import { textColumn, type Column } from '../ui/table.tsx'
import { filledIn, toNumber, type Field, type ValueOf } from '../ui/form.tsx'
import { formatNumber } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { networkIds } from '../../../schema/names.ts'
import { Page } from '../ui/shell.tsx'
import { Empty } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import { Line, shortText } from '../ui/text.tsx'
import { OnChain } from '../ui/values.tsx'
import type { Account, Alert } from './contract.ts'
import { deliveriesColumn } from './deliveries/deliveries.tsx'
import { accountField, Secret } from './fields.tsx'

/** Units of the thresholds. */
const units: Readonly<Record<AlertType, string>> = {
  price_above: 'USD per token',
  price_below: 'USD per token',
  volume_spike: 'percent above the usual volume of an hour',
  whale_buy: 'USD per trade',
  whale_sell: 'USD per trade',
}

const columns: readonly Column<Alert>[] = [
  { header: 'Label', isName: true, cell: ({ label }) => <Line value={label} fallback="No label" /> },
  textColumn('Type', 'type', { width: '8rem' }),
  {
    header: 'Address',
    width: '10rem',
    cell: ({ network, address }) => <OnChain kind="address" network={network} value={address} />,
  },
  textColumn('Network', 'network', { width: '6rem' }),
  { header: 'Threshold', width: '7rem', isNumber: true, cell: ({ threshold }) => formatNumber(threshold) },
  {
    header: 'Status',
    width: '6rem',
    narrow: 'plain',
    cell: ({ status }) => <Status tone={status === 'active' ? 'good' : 'neutral'}>{status}</Status>,
  },
  textColumn('URL', 'webhookUrl', { isOptional: true }),
  deliveriesColumn(({ alertId }) => alertId),
  { header: 'Action', width: '6rem', narrow: 'plain', cell: (alert) => <Delete alert={alert} /> },
]

/** Alerts on tokens and wallets (R57), and the secret that signs what they post (A41). */
export function AlertsPage() {
  const accounts = useGet<ListJson<Account>>('/accounts').data?.data
  return (
    <Page
      title="Alerts"
      actions={
        <>
          <Action
            isPrimary
            label="Add alert"
            fields={(value) => [...accountField(accounts), ...alertFields(value)]}
            run={async ({ api, value }) =>
              void (await api.send('POST', '/alerts', {
                ...filledIn(value, 'account', 'type', 'network', 'address', 'webhookUrl', 'label'),
                threshold: toNumber(value('threshold')),
              }))
            }
          />
          <Action
            label="Replace secret"
            fields={accountField(accounts)}
            run={async ({ api, value }) => {
              const body = filledIn(value, 'account')
              const made = await api.send<{ readonly alertSecret: string }>('POST', '/alert-secret', body)
              return <Secret value={made.alertSecret} label="alert secret" />
            }}
          >
            A new secret signs everything that alerts post from now on. Receivers with the old one reject it.
          </Action>
        </>
      }
    >
      <List
        caption="Alerts"
        path="/alerts"
        matches={() => true}
        rowKey={({ alertId }: Alert) => alertId}
        columns={columns}
        empty={<Empty title="No alerts yet">Add one for a price, a volume or the trades of whales.</Empty>}
      />
    </Page>
  )
}

function alertFields(value: ValueOf): readonly Field[] {
  const types = Object.keys(units) as readonly AlertType[]
  const type = types.find((name) => name === value('type')) ?? 'price_above'
  return [
    { name: 'type', label: 'Type', choices: types },
    { name: 'network', label: 'Network', choices: networkIds },
    { name: 'address', label: 'Address', description: type.startsWith('whale_') ? 'Token or wallet' : 'Token' },
    { name: 'threshold', label: 'Threshold', description: `In ${units[type]}` },
    { name: 'webhookUrl', label: 'URL', description: 'https, or http on this machine' },
    { name: 'label', label: 'Label', isOptional: true },
  ]
}

function Delete({ alert: { alertId, label, type } }: { readonly alert: Alert }) {
  return (
    <Action
      label="Delete"
      name={`Delete alert ${shortText(label ?? type)}`}
      title="Delete this alert?"
      isDangerous
      run={async ({ api }) => void (await api.send('DELETE', `/alerts/${encodeURIComponent(alertId)}`))}
    >
      It no longer fires. Its pending retries are cancelled.
    </Action>
  )
}
