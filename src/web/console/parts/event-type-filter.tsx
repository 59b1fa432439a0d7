import { NativeSelect } from '@mantine/core'
import { useEffect, useState } from 'react'
import { eventTypes } from '../../ui/names.ts'
import { Typed } from './event-typed.tsx'

/** What this program tells of itself. */
const ownTypes = ['inbox.warning', 'inbox.resolved']
const names: readonly string[] = [...eventTypes, ...ownTypes]
const another = 'another'

export interface TypeFilterProps {
  /** Empty: all types. */
  readonly value: string
  readonly onChange: (type: string) => void
}

/** One of the known types, or another one that somebody types: the service may have new ones. */
export function TypeFilter({ value, onChange }: TypeFilterProps) {
  const isOther = value !== '' && !names.includes(value)
  const [isTyping, setTyping] = useState(isOther)
  useEffect(() => setTyping(isOther), [isOther, value])
  return (
    <>
      <NativeSelect
        label="Type"
        data={[{ value: '', label: 'All types' }, ...names, { value: another, label: 'another type …' }]}
        value={isTyping ? another : value}
        onChange={(event) => {
          const chosen = event.currentTarget.value
          setTyping(chosen === another)
          if (chosen !== another) onChange(chosen)
        }}
      />
      {isTyping && (
        <Typed
          label="Another type"
          placeholder="All of it, then Enter"
          value={isOther ? value : ''}
          onCommit={onChange}
        />
      )}
    </>
  )
}
