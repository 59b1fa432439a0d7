import { TextInput } from '@mantine/core'
import { useEffect, useId, useState } from 'react'

export interface TextFilterProps {
  readonly label: string
  readonly value: string
  /** What is offered; anything else can be typed. */
  readonly offered: readonly string[]
  readonly onChange: (value: string) => void
}

/** A field of a filter that may be anything: it counts once it is left, or Enter is pressed. */
export function TextFilter({ label, value, offered, onChange }: TextFilterProps) {
  const [text, setText] = useState(value)
  const listId = useId()
  useEffect(() => setText(value), [value])
  const commit = () => {
    if (text.trim() !== value) onChange(text.trim())
  }
  return (
    <>
      <TextInput
        label={label}
        placeholder="All"
        maxLength={255}
        list={listId}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === 'Enter') commit()
        }}
      />
      <datalist id={listId}>
        {offered.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}
