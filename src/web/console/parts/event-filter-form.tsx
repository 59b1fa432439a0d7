import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { networks } from '../../ui/names.ts'
import { toVisible } from '../../ui/plain-text.tsx'
import { isFiltered, noFilters, spans, type EventFilters } from './event-filters.ts'
import { eventTones } from './event-status.tsx'
import { TypeFilter } from './event-type-filter.tsx'
import { Typed, type TypedProps } from './event-typed.tsx'

export interface EventFilterFormProps {
  readonly filters: EventFilters
  readonly onChange: (filters: EventFilters) => void
  /** Whether the field for words is to take the focus. */
  readonly isSearch: boolean
}

/** What the list is filtered by. A choice holds at once, what is typed with Enter or when the field is left. */
export function EventFilterForm({ filters, onChange, isSearch }: EventFilterFormProps) {
  const search = useRef<HTMLInputElement>(null)
  const set = (change: Partial<EventFilters>) => onChange({ ...filters, ...change })
  useEffect(() => {
    if (isSearch) search.current?.focus()
  }, [isSearch])
  return (
    <div className="ui-form" role="search" aria-label="Events">
      <Typed
        label="Words in the body"
        type="search"
        placeholder="Words, then Enter"
        className="ui-grow"
        inputRef={search}
        value={filters.q}
        onCommit={(q) => set({ q })}
      />
      <TypeFilter value={filters.type} onChange={(type) => set({ type })} />
      <Chosen
        label="Network"
        all="All networks"
        names={networks}
        value={filters.network}
        onChange={(network) => set({ network })}
      />
      <Chosen
        label="Status"
        all="Any status"
        names={Object.keys(eventTones)}
        value={filters.status}
        onChange={(status) => set({ status })}
      />
      <Typed
        label="Address"
        placeholder="All of it, then Enter"
        value={filters.address}
        onCommit={(address) => set({ address })}
      />
      <NativeSelect
        label="Time"
        data={[
          { value: '', label: 'Any time' },
          ...Object.keys(spans).map((span) => ({ value: span, label: `Last ${span}` })),
          { value: 'span', label: 'From … to …' },
        ]}
        value={filters.from !== '' || filters.to !== '' ? 'span' : filters.last}
        onChange={(event) => {
          const chosen = event.currentTarget.value
          const isSpan = chosen === 'span'
          set({ last: isSpan ? '' : chosen, from: isSpan ? midnight() : '', to: '' })
        }}
      />
      {(filters.from !== '' || filters.to !== '') && (
        <>
          <Moment label="From (UTC)" value={filters.from} onCommit={(from) => set({ from, last: '' })} />
          <Moment label="To (UTC)" value={filters.to} onCommit={(to) => set({ to, last: '' })} />
        </>
      )}
      {isFiltered(filters) && (
        <Button variant="default" onClick={() => onChange(noFilters)}>
          Clear
        </Button>
      )}
    </div>
  )
}

/** The begin of the day in UTC. */
const midnight = () => `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`

interface ChosenProps {
  readonly label: string
  readonly all: string
  readonly names: readonly string[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** One of some names, or another one that the address of the page has. */
function Chosen({ label, all, names, value, onChange }: ChosenProps) {
  const others = value === '' || names.includes(value) ? [] : [{ value, label: toVisible(value).slice(0, 80) }]
  return (
    <NativeSelect
      label={label}
      data={[{ value: '', label: all }, ...names, ...others]}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

/** A moment to the minute; the field has no zone, so what stands in it is taken as UTC. */
function Moment({ label, value, onCommit }: Pick<TypedProps, 'label' | 'value' | 'onCommit'>) {
  const date = new Date(value)
  const shown = Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 16)
  return (
    <TextInput
      label={label}
      type="datetime-local"
      value={shown}
      onChange={(event) => {
        const typed = event.currentTarget.value
        onCommit(typed === '' ? '' : new Date(`${typed}Z`).toISOString())
      }}
    />
  )
}
