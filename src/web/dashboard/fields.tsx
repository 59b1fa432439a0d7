import type { Field, ValueOf } from '../ui/form.tsx'
import { Copy } from '../ui/values.tsx'

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

/** The fields that are not empty, as members of a request. */
export function filledIn(value: ValueOf, ...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => (value(name) === '' ? [] : [[name, value(name)]])))
}

/** A number, or the text itself if it is none: the server then names the expected type. */
export function toNumber(text: string): number | string {
  const number = Number(text)
  return text === '' || !Number.isFinite(number) ? text : number
}

/** The parts of a text between commas, semicolons and white space. */
export function toList(text: string): readonly string[] {
  return text.split(/[\s,;]+/).filter(Boolean)
}
