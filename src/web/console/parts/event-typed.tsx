import { TextInput } from '@mantine/core'
import { useEffect, useState, type Ref, type SubmitEvent } from 'react'

export interface TypedProps {
  readonly label: string
  readonly value: string
  readonly onCommit: (value: string) => void
  readonly type?: string
  readonly placeholder?: string
  readonly className?: string
  readonly inputRef?: Ref<HTMLInputElement>
}

/** A field whose text holds with Enter or when it is left. */
export function Typed({ label, value, onCommit, type = 'text', placeholder, className, inputRef }: TypedProps) {
  const [draft, setDraft] = useState(value)
  useEffect(() => setDraft(value), [value])
  const commit = () => {
    if (draft.trim() !== value) onCommit(draft.trim())
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    commit()
  }
  return (
    <form onSubmit={submit} className={className}>
      <TextInput
        ref={inputRef}
        label={label}
        type={type}
        placeholder={placeholder}
        maxLength={255}
        autoComplete="off"
        spellCheck={false}
        value={draft}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onBlur={commit}
      />
    </form>
  )
}
