import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Address } from '../../ui/address.tsx'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { Account, Alert } from '../contract.ts'
import { hrefOf } from '../parts/links.ts'
import { AlertForm } from './alert-form.tsx'

/** Alerts on tokens and wallets (R57), and the secret that what they post is signed with (A41). */
export function AlertsPage() {
  const api = useApiClient()
  const { data, error, reload } = useApi<readonly Alert[]>('/alerts')
  const accounts = useApi<readonly Account[]>('/accounts').data ?? []
  const [isAdding, setAdding] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)

  return (
    <Page
      title="Alerts"
      about="What is watched for, and where it is posted when it happens."
      actions={
        <Group gap="xs">
          <ConfirmButton
            label="Draw a new secret"
            title="Draw a new secret for alerts?"
            verb="Draw"
            size="sm"
            onConfirm={async () => {
              const made = await api.send<{ readonly alertSecret: string }>('POST', '/alert-secret', {})
              setSecret(made.alertSecret)
            }}
          >
            Everything alerts post from now on is signed with it; receivers that know the old one refuse it.
          </ConfirmButton>
          <Button onClick={() => setAdding(true)}>Add an alert</Button>
        </Group>
      }
    >
      <DataTable
        caption="Alerts"
        rows={data}
        error={error}
        onRetry={reload}
        rowKey={({ alertId }) => alertId}
        empty={<EmptyState title="No alerts yet">Add one for a price, a volume or the trades of whales.</EmptyState>}
        columns={[
          { header: 'Label', isName: true, cell: ({ label }) => <PlainText value={label} fallback="No label" /> },
          { header: 'Type', cell: ({ type }) => <code>{type}</code> },
          {
            header: 'Watches',
            cell: ({ type, network, address }) => <Watched type={type} network={network} address={address} />,
          },
          { header: 'Threshold', isNumber: true, cell: ({ threshold }) => formatNumber(threshold) },
          { header: 'Posts to', cell: ({ webhookUrl }) => <span className="ui-url">{webhookUrl}</span> },
          {
            header: 'Status',
            cell: ({ status }) => <StatusBadge status={status} tone={status === 'active' ? 'good' : 'neutral'} />,
          },
          { header: 'Made', cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            header: 'Actions',
            cell: ({ alertId, label, type }) => (
              <ConfirmButton
                label="Delete"
                name={`Delete the alert ${label ?? type}`}
                title="Delete this alert?"
                verb="Delete"
                onConfirm={async () => {
                  await api.send('DELETE', `/alerts/${encodeURIComponent(alertId)}`)
                  reload()
                }}
              >
                It is no longer watched for, and what is yet to be tried again is cancelled.
              </ConfirmButton>
            ),
          },
        ]}
      />
      <Dialog title="Add an alert" isOpen={isAdding} onClose={() => setAdding(false)}>
        {isAdding && (
          <AlertForm
            accounts={accounts}
            onSaved={() => {
              setAdding(false)
              reload()
            }}
          />
        )}
      </Dialog>
      <SecretDialog
        value={secret}
        title="The new secret for alerts"
        what="alert secret"
        onClose={() => setSecret(null)}
      />
    </Page>
  )
}

/** The address leads to the wallet for alerts on trades if it is one; tokens are the usual case. */
function Watched({ type, network, address }: Pick<Alert, 'type' | 'network' | 'address'>) {
  const href = type.startsWith('whale_') ? undefined : hrefOf('token', network, address)
  return (
    <>
      <Address value={address} {...(href !== undefined && { href })} /> <span className="ui-dimmed">{network}</span>
    </>
  )
}
