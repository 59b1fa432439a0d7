import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { useState, type ReactNode, type SubmitEvent } from 'react'
import { Dialog } from '../ui/action.tsx'
import { useAction, type Api } from '../ui/api.tsx'
import { Failure } from '../ui/states.tsx'
import { Copy } from '../ui/values.tsx'

type Choice = string | { readonly value: string; readonly label: string; readonly description?: string }

export interface Field {
  readonly name: string
  readonly label: string
  readonly description?: string | undefined
  readonly placeholder?: string
  /** Default: the first choice, or empty. */
  readonly initial?: string
  readonly isOptional?: boolean
  /** A select of these values. */
  readonly choices?: readonly Choice[]
  /** A checkbox per choice. The value is the chosen ones, separated by spaces. */
  readonly isMany?: boolean
  /** A text of several lines. */
  readonly rows?: number
}

/** The trimmed text of a field; empty for unknown names. */
export type ValueOf = (name: string) => string

export interface FormProps {
  /** A function of the values if fields depend on other fields. */
  readonly fields: readonly Field[] | ((value: ValueOf) => readonly Field[])
  readonly submit: string
  /** The returned value is shown once done. */
  readonly run: (api: Api, value: ValueOf) => Promise<ReactNode>
  /** Lays the fields out in columns. */
  readonly isRow?: boolean
  /** In place of showing the result here. */
  readonly onDone?: (result: ReactNode) => void
}

const initialOf = ({ initial, choices: [first] = [], isMany = false }: Field): string =>
  initial ?? (first === undefined || isMany ? '' : valueOf(first))

/** Fields, a button, and the error or result of the action. The server checks the values. */
export function Form({ fields, submit, run, isRow = false, onDone }: FormProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const listed = typeof fields === 'function' ? fields((name) => values[name] ?? '') : fields
  const textOf = (field: Field) => values[field.name] ?? initialOf(field)
  const action = useAction((api, all: Readonly<Record<string, string>>) => run(api, (name) => all[name]?.trim() ?? ''))
  const send = (event: SubmitEvent) => {
    event.preventDefault()
    const all = Object.fromEntries(listed.map((field) => [field.name, textOf(field)]))
    action.mutate(all, { onSuccess: (result) => onDone?.(result) })
  }
  return (
    <form className="ui-stack" onSubmit={send}>
      <div className={isRow ? 'dash-fields' : 'ui-stack'}>
        {listed.map((field) => (
          <Input
            key={field.name}
            field={field}
            value={textOf(field)}
            onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
          />
        ))}
        <div className="ui-row">
          <Button type="submit" loading={action.isPending}>
            {submit}
          </Button>
          <span role="status">{onDone === undefined && action.data}</span>
        </div>
      </div>
      <Failure error={action.error} />
    </form>
  )
}

interface InputProps {
  readonly field: Field
  readonly value: string
  readonly onChange: (value: string) => void
}

function Input({ field, value, onChange }: InputProps) {
  const { label, description, placeholder, isOptional = false, choices, isMany = false, rows } = field
  const onText = (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value)
  const common = {
    label,
    description,
    value,
    onChange: onText,
    placeholder,
    required: !isOptional,
    withAsterisk: false,
  }
  if (choices === undefined)
    return rows === undefined ? <TextInput {...common} /> : <Textarea {...common} size="xs" rows={rows} />
  if (!isMany) return <NativeSelect {...common} data={[...choices]} />
  return (
    <Checkbox.Group
      label={label}
      size="xs"
      value={value === '' ? [] : value.split(' ')}
      onChange={(chosen) => onChange(chosen.join(' '))}
    >
      <div className="dash-checks">
        {choices.map((choice) => (
          <Checkbox
            key={valueOf(choice)}
            size="xs"
            value={valueOf(choice)}
            label={typeof choice === 'string' ? choice : choice.label}
            description={typeof choice === 'string' ? undefined : choice.description}
          />
        ))}
      </div>
    </Checkbox.Group>
  )
}

function valueOf(choice: Choice): string {
  return typeof choice === 'string' ? choice : choice.value
}

export interface FormActionProps extends Omit<FormProps, 'onDone'> {
  readonly label: string
  /** For screen readers, where the label doesn't name the object. */
  readonly name?: string
  readonly isPrimary?: boolean
  readonly children?: ReactNode
}

/** A button that opens the form in a dialog. A result stays until the dialog is closed. */
export function FormAction({ label, name = label, isPrimary = false, children, ...form }: FormActionProps) {
  const [isOpen, setOpen] = useState(false)
  const [result, setResult] = useState<ReactNode>(null)
  const close = () => {
    setOpen(false)
    setResult(null)
  }
  const done = (shown: ReactNode) => (shown === null || shown === undefined ? close() : setResult(shown))
  return (
    <>
      <Button variant={isPrimary ? 'filled' : 'default'} aria-label={name} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog title={name} isOpen={isOpen} onClose={close}>
        {isOpen && result === null && (
          <>
            {children}
            <Form {...form} onDone={done} />
          </>
        )}
        {result !== null && (
          <>
            <div role="status">{result}</div>
            <div className="ui-dialog-end">
              <Button onClick={close} data-autofocus>
                Close
              </Button>
            </div>
          </>
        )}
      </Dialog>
    </>
  )
}

/** A new secret, which the server never returns again. */
export function Secret({ value, what }: { readonly value: string; readonly what: string }) {
  return (
    <div className="ui-stack">
      <p>Copy the {what} now. It is not shown again.</p>
      <span className="ui-id">
        <code className="dash-secret">{value}</code>
        <Copy value={value} what={what} />
      </span>
    </div>
  )
}

/** Selects an account. No field if there is only one. */
export function accountField(
  accounts: readonly { readonly accountId: string; readonly name: string }[],
): readonly Field[] {
  if (accounts.length < 2) return []
  return [
    {
      name: 'account',
      label: 'Account',
      choices: accounts.map(({ accountId, name }) => ({ value: accountId, label: name })),
    },
  ]
}

/** The fields that are not empty, as members of a request. */
export function given(value: ValueOf, ...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => (value(name) === '' ? [] : [[name, value(name)]])))
}

/** A number, or the text itself if it is none: the server then names the expected type. */
export function toNumber(text: string): number | string {
  const number = Number(text)
  return text === '' || !Number.isFinite(number) ? text : number
}
