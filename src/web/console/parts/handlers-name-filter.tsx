import { TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useThrottled } from '../../ui/use-throttled.ts'

export interface NameFilterProps {
  /** As the address of the page has it. */
  readonly value: string
  readonly onChange: (value: string) => void
}

const waitMs = 250

/** A part of a name to show only what has it. The address follows what is typed after a moment, so that no letter is lost to it. */
export function NameFilter({ value, onChange }: NameFilterProps) {
  const [text, setText] = useState(value)
  const told = useRef(value)
  const tell = useThrottled(() => {
    told.current = text
    onChange(text)
  }, waitMs)
  useEffect(() => {
    if (value === told.current) return
    told.current = value
    setText(value)
  }, [value])
  return (
    <TextInput
      type="search"
      label="Name"
      placeholder="All"
      maxLength={255}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        tell()
      }}
    />
  )
}
