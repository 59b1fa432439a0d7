import { Button, Checkbox, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { Account, Webhook } from '../contract.ts'
import { eventTypes } from '../names.ts'
import { AccountSelect } from '../parts/account-select.tsx'

export interface WebhookFormProps {
  /** Null: a new one. */
  readonly webhook: Webhook | null
  readonly accounts: readonly Account[]
  /** Gets the webhook as it was answered, with its secret if the service made it. */
  readonly onSaved: (saved: { readonly secret?: string }) => void
}

/** Makes or changes a webhook: URL, subscriptions (R61, R91), and a secret if it is not to be drawn (R77). */
export function WebhookForm({ webhook, accounts, onSaved }: WebhookFormProps) {
  const api = useApiClient()
  const [account, setAccount] = useState(accounts[0]?.accountId ?? '')
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [areAll, setAll] = useState(webhook?.events.includes('*') ?? true)
  const [types, setTypes] = useState<string[]>(webhook?.events.filter((type) => type !== '*') ?? [])
  const [secret, setSecret] = useState('')
  const { run, isBusy, error } = useAct()

  const save = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      const fields = { url, events: areAll ? ['*'] : types, ...(secret !== '' && { secret }) }
      onSaved(
        webhook === null
          ? await api.send('POST', '/webhooks', accounts.length > 1 ? { account, ...fields } : fields)
          : await api.send('PATCH', `/webhooks/${encodeURIComponent(webhook.webhookId)}`, fields),
      )
    })
  }

  return (
    <form className="ui-stack" onSubmit={save}>
      {webhook === null && <AccountSelect accounts={accounts} value={account} onChange={setAccount} />}
      <TextInput
        label="URL"
        description="https, or http to this machine"
        required
        withAsterisk={false}
        data-autofocus
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <Checkbox
        label="All events, and those of types yet to come"
        checked={areAll}
        onChange={(event) => setAll(event.currentTarget.checked)}
      />
      {!areAll && (
        <Checkbox.Group label="Events" value={types} onChange={setTypes}>
          <div className="ui-checks">
            {eventTypes.map((type) => (
              <Checkbox key={type} value={type} label={type} />
            ))}
          </div>
        </Checkbox.Group>
      )}
      <TextInput
        label={webhook === null ? 'Secret' : 'New secret'}
        description={webhook === null ? 'One is drawn if this is empty' : 'It stays as it is if this is empty'}
        autoComplete="off"
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
      <ErrorState error={error} />
      <Button type="submit" loading={isBusy} disabled={!areAll && types.length === 0}>
        {webhook === null ? 'Add the webhook' : 'Save'}
      </Button>
    </form>
  )
}
