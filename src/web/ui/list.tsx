import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { pathWith, usePages, type ListJson } from './api.tsx'
import { formatCount } from './format.ts'
import { usePageLocation } from './router.tsx'
import { SidePanel } from './shell.tsx'
import { Empty, Failure, Skeleton } from './states.tsx'
import { DataTable, type Column, type Selection } from './table.tsx'
import { shortText } from './text.tsx'

export interface Filter {
  readonly name: string
  readonly label: string
  /** A select with these values, else a text field. */
  readonly values?: readonly (string | { readonly value: string; readonly label: string })[]
}

export interface Detail<Row> {
  readonly label: string
  /** `row` is undefined if it is not in the loaded pages. */
  readonly render: (key: string, row: Row | undefined) => ReactNode
}

export interface ListProps<Row> {
  readonly caption: string
  /** Path of the API. The filters in the address are added. */
  readonly path: string
  readonly columns: readonly Column<Row>[]
  readonly rowKey: (row: Row) => string
  /** Name of the API's parameter for the next page. Default `cursor`. */
  readonly cursorName?: string
  /** Shown above the rows. Sent to the API unless `matches` is set. */
  readonly filters?: readonly Filter[]
  readonly matches?: (row: Row, filter: Readonly<Record<string, string>>) => boolean
  /** Buttons for the selected rows, all rows of a filter, or all rows. */
  readonly actions?: (target: Target) => ReactNode
  readonly detail?: Detail<Row>
  /** Shown if there are no rows and no filter is set. */
  readonly empty: ReactNode
  /** Above the rows, such as groups. */
  readonly above?: ReactNode
}

export interface Target {
  /** Empty: the action applies to all rows of `filter`. */
  readonly keys: readonly string[]
  readonly filter: Readonly<Record<string, string>>
}

/** Parameter of the address with the key of the open row. */
const openName = 'open'
const pageSize = 100

/** A list of the API: filters in the address, rows loaded while scrolling, a panel for the open row, and actions. */
export function List<Row>(props: ListProps<Row>) {
  const {
    caption,
    path,
    columns,
    rowKey,
    cursorName = 'cursor',
    filters = [],
    matches,
    actions,
    detail,
    empty,
    above,
  } = props
  const location = usePageLocation()
  const names = new Set(filters.map(({ name }) => name))
  const filter = Object.fromEntries(Object.entries(location.parameters).filter(([name]) => names.has(name)))
  const isFiltered = Object.keys(filter).length > 0
  const sent = matches === undefined ? filter : {}
  const pages = usePages<ListJson<Row>>(pathWith(path, sent), (cursor) =>
    pathWith(path, matches === undefined ? { ...sent, limit: pageSize, [cursorName]: cursor ?? '' } : {}),
  )
  const rows = useMemo(() => pages.data?.pages.flatMap(({ data }) => data), [pages.data])
  const shown = matches === undefined ? rows : rows?.filter((row) => matches(row, filter))
  const selection = useSelection(shown?.map(rowKey) ?? [])
  const openKey = location.parameters[openName] ?? null
  const close = () => location.go({ [openName]: '' }, { replace: true })
  useHotkeys([['Escape', () => openKey !== null && close()]])
  const clear = () => location.go(Object.fromEntries([...names].map((name) => [name, ''])))
  // Read here, so that React renders again when a fetch ends: a query reports only members that were read.
  const canLoadMore = pages.hasNextPage && !pages.isFetching && !pages.isError
  const loadMore = () => {
    if (canLoadMore) void pages.fetchNextPage()
  }

  return (
    <div className="ui-split">
      <div className="ui-list">
        {(filters.length > 0 || actions !== undefined) && (
          <div className="ui-bar">
            {filters.map((each) => (
              <FilterField
                key={each.name}
                filter={each}
                value={filter[each.name] ?? ''}
                onChange={(value) => location.go({ [each.name]: value, [openName]: '' }, { replace: true })}
              />
            ))}
            <span className="ui-row ui-bar-end">
              {selection.keys.size > 0 && <span role="status">{formatCount(selection.keys.size)} selected</span>}
              {shown !== undefined && shown.length > 0 && actions?.({ keys: [...selection.keys], filter })}
            </span>
          </div>
        )}
        {above}
        <Failure
          error={pages.error}
          onRetry={() => void (rows === undefined ? pages.refetch() : pages.fetchNextPage())}
        />
        {shown === undefined && pages.error === null && <Skeleton />}
        {shown !== undefined && (
          <DataTable
            isMain
            caption={caption}
            columns={columns}
            rows={shown}
            rowKey={rowKey}
            openKey={openKey}
            onEnd={loadMore}
            empty={pages.hasNextPage ? null : isFiltered ? <NoMatch onClear={clear} /> : empty}
            {...(actions !== undefined && { selection })}
            {...(detail !== undefined && { hrefOf: (row: Row) => location.hrefWith({ [openName]: rowKey(row) }) })}
          />
        )}
      </div>
      {detail !== undefined && openKey !== null && (
        <SidePanel title={detail.label} label={detail.label} onClose={close}>
          {rows === undefined ? (
            <Skeleton />
          ) : (
            detail.render(
              openKey,
              rows.find((row) => rowKey(row) === openKey),
            )
          )}
        </SidePanel>
      )}
    </div>
  )
}

/** Selected rows. Rows that are gone are no longer selected. */
export function useSelection(keys: readonly string[]): Selection<string> {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  return {
    keys: new Set(keys.filter((key) => selected.has(key))),
    toggle: (key) =>
      setSelected((before) => new Set(before.has(key) ? [...before].filter((each) => each !== key) : [...before, key])),
    setAll: (all) => setSelected(new Set(all)),
  }
}

export interface FilterFieldProps {
  readonly filter: Filter
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A select, or a text field. */
export function FilterField({ filter: { label, values }, value, onChange }: FilterFieldProps) {
  if (values === undefined) return <TextFilter label={label} value={value} onChange={onChange} />
  const known = [
    { value: '', label: `All ${label.toLowerCase()}` },
    ...values.map((each) => (typeof each === 'string' ? { value: each, label: shortText(each) } : each)),
  ]
  const isKnown = known.some((each) => each.value === value)
  return (
    <NativeSelect
      aria-label={label}
      data={isKnown ? known : [...known, { value, label: shortText(value) }]}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

export interface TextFilterProps {
  readonly label: string
  readonly value: string
  readonly placeholder?: string
  readonly onChange: (value: string) => void
}

/** A text that takes effect with Enter, or when the field is left. The key `/` moves the focus to it. */
export function TextFilter({ label, value, placeholder = label, onChange }: TextFilterProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const commit = () => text.trim() !== value && onChange(text.trim())
  return (
    <TextInput
      type="search"
      className="ui-grow"
      data-search
      aria-label={label}
      placeholder={placeholder}
      maxLength={500}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') commit()
        if (event.key === 'Escape') event.currentTarget.blur()
      }}
    />
  )
}

export function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty title="Nothing matches the filter">
      <Button variant="default" onClick={onClear}>
        Clear filter
      </Button>
    </Empty>
  )
}
