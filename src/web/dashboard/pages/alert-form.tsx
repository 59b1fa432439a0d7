import { Button, NativeSelect, NumberInput, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { Account } from '../contract.ts'
import { alertTypeNames, alertTypes, networks } from '../names.ts'
import { AccountSelect } from '../parts/account-select.tsx'

export interface AlertFormProps {
  readonly accounts: readonly Account[]
  readonly onSaved: () => void
}

/** Makes an alert (R57). */
export function AlertForm({ accounts, onSaved }: AlertFormProps) {
  const api = useApiClient()
  const [account, setAccount] = useState(accounts[0]?.accountId ?? '')
  const [type, setType] = useState(alertTypeNames[0] ?? 'price_above')
  const [network, setNetwork] = useState<string>(networks[0] ?? '')
  const [address, setAddress] = useState('')
  const [threshold, setThreshold] = useState<number | string>('')
  const [webhookUrl, setWebhookUrl] = useState('')
  const [label, setLabel] = useState('')
  const { run, isBusy, error } = useAct()

  const save = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      await api.send('POST', '/alerts', {
        ...(accounts.length > 1 && { account }),
        type,
        network,
        address: address.trim(),
        threshold,
        webhookUrl,
        ...(label !== '' && { label }),
      })
      onSaved()
    })
  }

  return (
    <form className="ui-stack" onSubmit={save}>
      <AccountSelect accounts={accounts} value={account} onChange={setAccount} />
      <NativeSelect
        label="Type"
        data-autofocus
        data={[...alertTypeNames]}
        value={type}
        onChange={(event) => setType(event.currentTarget.value as typeof type)}
      />
      <NativeSelect
        label="Network"
        data={[...networks]}
        value={network}
        onChange={(event) => setNetwork(event.currentTarget.value)}
      />
      <TextInput
        label="Address"
        description={type.startsWith('whale_') ? 'Of a token or of a wallet' : 'Of a token'}
        required
        withAsterisk={false}
        value={address}
        onChange={(event) => setAddress(event.currentTarget.value)}
      />
      <NumberInput
        label="Threshold"
        description={`In ${alertTypes[type]}`}
        required
        withAsterisk={false}
        min={0}
        hideControls
        value={threshold}
        onChange={setThreshold}
      />
      <TextInput
        label="URL it is posted to"
        description="https, or http to this machine"
        required
        withAsterisk={false}
        value={webhookUrl}
        onChange={(event) => setWebhookUrl(event.currentTarget.value)}
      />
      <TextInput
        label="Label"
        description="For people; may be empty"
        value={label}
        onChange={(event) => setLabel(event.currentTarget.value)}
      />
      <ErrorState error={error} />
      <Button type="submit" loading={isBusy}>
        Add the alert
      </Button>
    </form>
  )
}
