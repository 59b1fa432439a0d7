import { NativeSelect } from '@mantine/core'
import type { Account } from '../contract.ts'

export interface AccountSelectProps {
  readonly accounts: readonly Account[]
  readonly value: string
  readonly onChange: (accountId: string) => void
}

/** Chooses whose something is; with one account there is nothing to choose. */
export function AccountSelect({ accounts, value, onChange }: AccountSelectProps) {
  if (accounts.length < 2) return null
  return (
    <NativeSelect
      label="Account"
      data={accounts.map(({ accountId, name }) => ({ value: accountId, label: name }))}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
