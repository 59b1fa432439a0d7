import type { Field, ValueOf } from '../ui/form.tsx'
import { Copy } from '../ui/values.tsx'
import type { Scenario } from './contract.ts'

/** A new secret, which the server never returns again. */
export function Secret({ value, label }: { readonly value: string; readonly label: string }) {
  return (
    <div className="ui-stack">
      <p>Copy the {label} now. It is not shown again.</p>
      <span className="ui-id">
        <code>{value}</code>
        <Copy value={value} label={label} />
      </span>
    </div>
  )
}

/** Selects an account. No field if there is only one. */
export function accountField(
  accounts: readonly { readonly accountId: string; readonly name: string }[] = [],
): readonly Field[] {
  if (accounts.length < 2) return []
  const choices = accounts.map(({ accountId, name }) => ({ value: accountId, label: name }))
  return [{ name: 'account', label: 'Account', choices }]
}

/** Selects one of the choices, and describes it. */
export function choiceField(label: string, choices: readonly Scenario[], value: ValueOf): Field {
  const { about } = choices.find(({ name }) => name === value('name')) ?? choices[0] ?? {}
  return { name: 'name', label, description: about, choices: choices.map(({ name }) => name) }
}
