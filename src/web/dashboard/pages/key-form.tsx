import { Button, Checkbox, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { Account } from '../contract.ts'
import { scopeNames, scopes } from '../names.ts'
import { AccountSelect } from '../parts/account-select.tsx'

export interface KeyFormProps {
  readonly accounts: readonly Account[]
  /** Gets the value of the new key. */
  readonly onMade: (value: string) => void
}

/** Creates a key by its name and scope (R67). */
export function KeyForm({ accounts, onMade }: KeyFormProps) {
  const api = useApiClient()
  const [account, setAccount] = useState(accounts[0]?.accountId ?? '')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<string[]>([...scopeNames])
  const { run, isBusy, error } = useAct()
  const create = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      const { value } = await api.send<{ readonly value: string }>('POST', '/keys', { account, name, scopes: chosen })
      onMade(value)
    })
  }
  return (
    <form className="ui-stack" onSubmit={create}>
      <AccountSelect accounts={accounts} value={account} onChange={setAccount} />
      <TextInput
        label="Name"
        required
        withAsterisk={false}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Checkbox.Group label="Scope" value={chosen} onChange={setChosen}>
        <div className="ui-stack ui-checks-list">
          {scopeNames.map((scope) => (
            <Checkbox key={scope} value={scope} label={scope} description={scopes[scope]} />
          ))}
        </div>
      </Checkbox.Group>
      <ErrorState error={error} />
      <Button type="submit" loading={isBusy} disabled={chosen.length === 0}>
        Create the key
      </Button>
    </form>
  )
}
