import { Button, Checkbox, NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core'
import { useState, type ReactNode, type SubmitEvent } from 'react'
import { useAction, type Api } from './api.tsx'
import { Failure } from './states.tsx'

type Choice = string | { readonly value: string; readonly label: string; readonly description?: string }

export interface Field {
  readonly name: string
  readonly label: string
  readonly description?: ReactNode
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
  /** In whole seconds. */
  readonly isTime?: boolean
  /** A password, which is not trimmed. */
  readonly isSecret?: boolean
  readonly autoComplete?: string
}

/** The trimmed text of a field; empty for unknown names. */
export type ValueOf = (name: string) => string

export interface Filled {
  readonly api: Api
  readonly value: ValueOf
}

export interface FormProps {
  /** A function of the values if fields depend on other fields. */
  readonly fields?: readonly Field[] | ((value: ValueOf) => readonly Field[])
  /** Label of the button. */
  readonly submit: string
  /** The returned value is shown once done, unless there is `onDone`. */
  readonly run: (filled: Filled) => Promise<ReactNode | void>
  /** Lays the fields out in columns. */
  readonly isRow?: boolean
  readonly isDangerous?: boolean
  /** Can't be submitted yet. */
  readonly isBlocked?: boolean
  /** Gets the returned value; null if there is none. */
  readonly onDone?: (result: ReactNode) => void
  readonly onCancel?: () => void
}

/** The fields that are not empty, as members of a request. */
export function filledIn(value: ValueOf, ...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => (value(name) === '' ? [] : [[name, value(name)]])))
}

/** The parts of a text between commas, semicolons and white space. */
export function toList(text: string): readonly string[] {
  return text.split(/[\s,;]+/).filter(Boolean)
}

/** A number, or the text itself if it is none: the server then names the expected type. */
export function toNumber(text: string): number | string {
  const number = Number(text)
  return text === '' || !Number.isFinite(number) ? text : number
}

/** Characters of an input. */
const maxLength = 1_024

const valueOf = (choice: Choice) => (typeof choice === 'string' ? choice : choice.value)
const initialOf = ({ initial, choices: [first] = [], isMany = false }: Field): string =>
  initial ?? (first === undefined || isMany ? '' : valueOf(first))

/** Fields, a button, and the error or result of the action. The server checks the values. */
export function Form(props: FormProps) {
  const { fields = [], submit, run, isRow = false, isDangerous = false, isBlocked = false, onDone, onCancel } = props
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const listed = typeof fields === 'function' ? fields((name) => values[name] ?? '') : fields
  const textOf = (field: Field) => {
    const text = values[field.name] ?? initialOf(field)
    return field.isSecret ? text : text.trim()
  }
  const isMissing = listed.some((field) => !field.isOptional && !field.isMany && textOf(field) === '')
  const action = useAction(
    async (api, all: Readonly<Record<string, string>>) =>
      (await run({ api, value: (name) => all[name] ?? '' })) ?? null,
  )
  const send = (event: SubmitEvent) => {
    event.preventDefault()
    const all = Object.fromEntries(listed.map((field) => [field.name, textOf(field)]))
    action.mutate(all, { onSuccess: (result) => onDone?.(result) })
  }
  const button = (
    <Button
      type="submit"
      color={isDangerous ? 'red' : 'blue'}
      data-autofocus={listed.length === 0 || undefined}
      loading={action.isPending}
      disabled={isMissing || isBlocked}
    >
      {submit}
    </Button>
  )
  return (
    <form className="ui-stack" onSubmit={send}>
      <div className={isRow ? 'ui-fields' : 'ui-stack'}>
        {listed.map((field, index) => (
          <Input
            key={field.name}
            field={field}
            isFirst={index === 0}
            value={values[field.name] ?? initialOf(field)}
            onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
          />
        ))}
        {onCancel === undefined && (
          <div className="ui-row">
            {button}
            <span role="status">{onDone === undefined && action.data}</span>
          </div>
        )}
      </div>
      <Failure error={action.error} />
      {onCancel !== undefined && (
        <div className="ui-row ui-bar-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          {button}
        </div>
      )}
    </form>
  )
}

interface InputProps {
  readonly field: Field
  readonly isFirst: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

function Input({ field, isFirst, value, onChange }: InputProps) {
  const { name, label, description, placeholder, isOptional = false, choices, isMany, rows, autoComplete } = field
  const common = {
    name,
    label,
    description,
    placeholder,
    autoComplete,
    required: !isOptional,
    withAsterisk: false,
    'data-autofocus': isFirst || undefined,
    value,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value),
  }
  if (choices !== undefined && isMany)
    return (
      <Checkbox.Group
        label={label}
        size="xs"
        value={value.split(' ').filter(Boolean)}
        onChange={(chosen) => onChange(chosen.join(' '))}
      >
        <div className="ui-list-plain">
          {choices.map((choice) => (
            <Checkbox
              key={valueOf(choice)}
              size="xs"
              {...(typeof choice === 'string' ? { value: choice, label: choice } : choice)}
            />
          ))}
        </div>
      </Checkbox.Group>
    )
  if (choices !== undefined) return <NativeSelect {...common} data={[...choices]} />
  if (rows !== undefined) return <Textarea {...common} rows={rows} />
  if (field.isTime) return <TextInput {...common} type="datetime-local" step={1} />
  if (!field.isSecret) return <TextInput {...common} maxLength={maxLength} />
  const showLabel = `Show ${label.toLowerCase()}`
  return (
    <PasswordInput
      {...common}
      maxLength={maxLength}
      visibilityToggleButtonProps={{ 'aria-label': showLabel, tabIndex: 0 }}
    />
  )
}
