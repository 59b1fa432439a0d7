import { Button, Checkbox } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import type { Column } from '../../ui/data-table.tsx'
import { formatCount } from '../../ui/format.ts'

export interface Selection<Key> {
  /** Of what is shown; what has left the list is not chosen any more. */
  readonly chosen: readonly Key[]
  readonly shown: readonly Key[]
  readonly has: (key: Key) => boolean
  readonly choose: (keys: readonly Key[], isChosen: boolean) => void
}

/** Which of the rows that are shown were chosen. */
export function useSelection<Key>(shown: readonly Key[]): Selection<Key> {
  const [kept, setKept] = useState<ReadonlySet<Key>>(new Set())
  return {
    chosen: shown.filter((key) => kept.has(key)),
    shown,
    has: (key) => kept.has(key),
    choose: (keys, isChosen) =>
      setKept((before) => {
        const after = new Set(before)
        for (const key of keys) {
          if (isChosen) after.add(key)
          else after.delete(key)
        }
        return after
      }),
  }
}

/** The column that rows are chosen by. */
export function choiceColumn<Row, Key>(
  selection: Selection<Key>,
  keyOf: (row: Row) => Key,
  nameOf: (row: Row) => string,
): Column<Row> {
  return {
    header: 'Choose',
    cell: (row) => (
      <Checkbox
        size="xs"
        aria-label={`Choose ${nameOf(row)}`}
        checked={selection.has(keyOf(row))}
        onChange={(event) => selection.choose([keyOf(row)], event.currentTarget.checked)}
      />
    ),
  }
}

export interface SelectionBarProps<Key> {
  readonly selection: Selection<Key>
  /** What can be done with those that were chosen. */
  readonly children: ReactNode
}

/** Chooses all that is shown, says how many were chosen, and what can be done with them. */
export function SelectionBar<Key>({ selection, children }: SelectionBarProps<Key>) {
  const { chosen, shown, choose } = selection
  if (shown.length === 0) return null
  return (
    <div className="ui-row">
      <Checkbox
        size="xs"
        label={`Choose all ${formatCount(shown.length)} that are shown`}
        checked={chosen.length === shown.length}
        indeterminate={chosen.length > 0 && chosen.length < shown.length}
        onChange={(event) => choose(shown, event.currentTarget.checked)}
      />
      {chosen.length > 0 && (
        <>
          <span role="status">{formatCount(chosen.length)} chosen</span>
          {children}
          <Button size="xs" variant="default" onClick={() => choose(chosen, false)}>
            Choose none
          </Button>
        </>
      )}
    </div>
  )
}
