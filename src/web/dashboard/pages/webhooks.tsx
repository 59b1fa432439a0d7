import { Button } from '@mantine/core'
import { useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Address } from '../../ui/address.tsx'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Page } from '../../ui/page.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { Account, Webhook } from '../contract.ts'
import { WebhookForm } from './webhook-form.tsx'

/** Endpoints that get events (R60, R62); the secret of a new one is shown once (R76). */
export function WebhooksPage() {
  const api = useApiClient()
  const { data, error, reload } = useApi<readonly Webhook[]>('/webhooks')
  const accounts = useApi<readonly Account[]>('/accounts').data ?? []
  const [secret, setSecret] = useState<string | null>(null)
  /** Which one is changed; null: none, `new`: one is made. */
  const [edited, setEdited] = useState<Webhook | 'new' | null>(null)

  const onSaved = (made: { readonly secret?: string }) => {
    setEdited(null)
    setSecret(made.secret ?? null)
    reload()
  }
  const nameOf = (accountId: string) => accounts.find((account) => account.accountId === accountId)?.name

  return (
    <Page
      title="Webhooks"
      about="URLs that get the events they are subscribed to, signed with their own secret."
      actions={<Button onClick={() => setEdited('new')}>Add a webhook</Button>}
    >
      <DataTable
        caption="Webhooks"
        rows={data}
        error={error}
        onRetry={reload}
        rowKey={({ webhookId }) => webhookId}
        empty={<EmptyState title="No webhooks yet">Add one, and events are posted to it as they arise.</EmptyState>}
        columns={[
          { header: 'URL', isName: true, cell: ({ url }) => <span className="ui-url">{url}</span> },
          { header: 'Events', cell: ({ events }) => (events.includes('*') ? 'All' : events.join(', ')) },
          ...(accounts.length > 1
            ? [{ header: 'Account', cell: ({ accountId }: Webhook) => <PlainText value={nameOf(accountId)} /> }]
            : []),
          { header: 'Id', cell: ({ webhookId }) => <Address value={webhookId} /> },
          { header: 'Made', cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            header: 'Actions',
            cell: (webhook) => (
              <div className="ui-row">
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Change ${webhook.url}`}
                  onClick={() => setEdited(webhook)}
                >
                  Change
                </Button>
                <ConfirmButton
                  label="Delete"
                  name={`Delete ${webhook.url}`}
                  title="Delete this webhook?"
                  verb="Delete"
                  onConfirm={async () => {
                    await api.send('DELETE', `/webhooks/${encodeURIComponent(webhook.webhookId)}`)
                    reload()
                  }}
                >
                  <code className="ui-text">{webhook.url}</code> gets no more events, and what is yet to be tried again
                  is cancelled.
                </ConfirmButton>
              </div>
            ),
          },
        ]}
      />
      <Dialog
        title={edited === 'new' ? 'Add a webhook' : 'Change the webhook'}
        isOpen={edited !== null}
        onClose={() => setEdited(null)}
      >
        {edited !== null && (
          <WebhookForm webhook={edited === 'new' ? null : edited} accounts={accounts} onSaved={onSaved} />
        )}
      </Dialog>
      <SecretDialog
        value={secret}
        title="The webhook was added"
        what="webhook secret"
        onClose={() => setSecret(null)}
      />
    </Page>
  )
}
