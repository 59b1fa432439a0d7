import { Button } from '@mantine/core'
import { useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Page } from '../../ui/page.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { Account, ApiKey } from '../contract.ts'
import { KeyForm } from './key-form.tsx'

/** Keys of the accounts: made by name and scope (R67); the value is shown once (R68). */
export function ApiKeysPage() {
  const api = useApiClient()
  const { data, error, reload } = useApi<readonly Account[]>('/accounts')
  const [isAdding, setAdding] = useState(false)
  const [value, setValue] = useState<string | null>(null)
  const rows = data?.flatMap(({ name, keys }) => keys.map((key) => ({ account: name, ...key }))) ?? null

  return (
    <Page
      title="API keys"
      about="What requests to the REST service carry."
      actions={
        <Button disabled={data === null} onClick={() => setAdding(true)}>
          Create a key
        </Button>
      }
    >
      <DataTable
        caption="API keys"
        rows={rows}
        error={error}
        onRetry={reload}
        rowKey={({ keyId }) => keyId}
        empty={<EmptyState title="No keys yet">Create one, and call the REST service with it.</EmptyState>}
        columns={[
          { header: 'Name', isName: true, cell: ({ name }) => <PlainText value={name} /> },
          ...(data !== null && data.length > 1
            ? [
                {
                  header: 'Account',
                  cell: ({ account }: { readonly account: string }) => <PlainText value={account} />,
                },
              ]
            : []),
          { header: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
          { header: 'Made', cell: ({ createdAt }) => <Time at={createdAt} /> },
          { header: 'State', cell: (key) => <KeyState {...key} /> },
          {
            header: 'Actions',
            cell: ({ keyId, name, revokedAt }) =>
              revokedAt === null && (
                <ConfirmButton
                  label="Revoke"
                  name={`Revoke ${name}`}
                  title="Revoke this key?"
                  verb="Revoke"
                  onConfirm={async () => {
                    await api.send('DELETE', `/keys/${encodeURIComponent(keyId)}`)
                    reload()
                  }}
                >
                  Requests with the key <PlainText value={name} /> are refused from then on. There is no way back.
                </ConfirmButton>
              ),
          },
        ]}
      />
      <Dialog title="Create a key" isOpen={isAdding} onClose={() => setAdding(false)}>
        {isAdding && (
          <KeyForm
            accounts={data ?? []}
            onMade={(made) => {
              setAdding(false)
              setValue(made)
              reload()
            }}
          />
        )}
      </Dialog>
      <SecretDialog value={value} title="The key was created" what="key" onClose={() => setValue(null)} />
    </Page>
  )
}

function KeyState({ revokedAt }: ApiKey) {
  if (revokedAt === null) return <StatusBadge status="active" tone="good" />
  return (
    <span className="ui-row">
      <StatusBadge status="revoked" /> <Time at={revokedAt} />
    </span>
  )
}
