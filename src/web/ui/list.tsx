import { Button, Kbd, NativeSelect, TextInput } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { pathWith, usePages, type ListJson } from './api.tsx'
import { formatCount } from './format.ts'
import { useLive } from './live.tsx'
import { usePageLocation } from './router.tsx'
import { SidePanel } from './shell.tsx'
import { Empty, Failure, Skeleton } from './states.tsx'
import { DataTable, type Column, type Selection } from './table.tsx'
import { shortText } from './text.tsx'
import { Time } from './values.tsx'

/** Filters by parameter of the address. */
export type FilterValues = Readonly<Record<string, string | undefined>>

export interface Filter {
  readonly name: string
  readonly label: string
  /** A select with these values, else a text field. */
  readonly values?: readonly (string | { readonly value: string; readonly label: string })[]
}

/** One text for all filters, above the fields of some. */
export interface FilterLine {
  readonly names: readonly string[]
  readonly placeholder: string
  parse(text: string): FilterValues
  format(filter: FilterValues): string
  /** Parameters of the API at the time of a request. */
  toQuery(filter: FilterValues): FilterValues
}

export interface Detail<Row> {
  readonly label: string
  /** In place of the label. */
  readonly title?: (key: string) => ReactNode
  readonly actions?: (key: string) => ReactNode
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
  readonly line?: FilterLine
  /** The API has one page without filters. */
  readonly matches?: (row: Row, filter: FilterValues) => boolean
  readonly order?: (a: Row, b: Row) => number
  readonly pollMs?: number
  /** Time limit of a search: a response with few rows is followed by more requests. Then the search continues with a click. */
  readonly searchMs?: number
  /** Kind of the stream's messages that report new rows. They appear while the first row is in sight. */
  readonly liveKind?: string
  /** Buttons for the selected rows, all rows of a filter, or all rows. */
  readonly actions?: (target: Target) => ReactNode
  /** Links for all rows of the filter. `query`: parameters of the API. */
  readonly links?: (query: FilterValues) => ReactNode
  readonly detail?: Detail<Row>
  /** Shown if there are no rows and no filter is set. */
  readonly empty: ReactNode
  /** Above the rows, such as groups. */
  readonly above?: ReactNode
}

export interface Target {
  /** Empty: the action applies to all rows of `filter`. */
  readonly keys: readonly string[]
  readonly filter: FilterValues
}

/** A page, and how far back its search got. */
interface SearchedJson<Row> extends ListJson<Row> {
  readonly searched_to?: string | null
}

/** Parameter of the address with the key of the open row. */
const openName = 'open'
const pageSize = 100
/** A longer list isn't read again by itself. */
const maxLivePages = 2

/** A list of the API: filters in the address, rows loaded while scrolling, a panel for the open row, and actions. */
export function List<Row>(props: ListProps<Row>) {
  const { caption, path, columns, rowKey, cursorName = 'cursor', filters = [], line, matches, order } = props
  const { pollMs, searchMs, liveKind = '', actions, links, detail, empty, above } = props
  const location = usePageLocation()
  const names = line?.names ?? filters.map(({ name }) => name)
  const filter: FilterValues = Object.fromEntries(
    names.flatMap((name) => (location.parameters[name] === undefined ? [] : [[name, location.parameters[name]]])),
  )
  const isFiltered = Object.keys(filter).length > 0
  const query = () => (matches === undefined ? (line?.toQuery(filter) ?? filter) : {})
  const pages = usePages<SearchedJson<Row>>(
    pathWith(path, matches === undefined ? filter : {}),
    (cursor) =>
      pathWith(path, matches === undefined ? { ...query(), limit: pageSize, [cursorName]: cursor ?? '' } : {}),
    { pollMs, ...(searchMs !== undefined && { minRows: pageSize, searchMs }) },
  )
  const rows = useMemo(() => {
    const all = pages.data?.pages.flatMap(({ data }) => data)
    // A page that was read again may overlap the next one.
    return all && [...new Map(all.map((row) => [rowKey(row), row])).values()]
  }, [pages.data])
  const matching = matches === undefined ? rows : rows?.filter((row) => matches(row, filter))
  const shown = order === undefined ? matching : matching?.toSorted(order)
  const selection = useSelection(shown?.map(rowKey) ?? [])
  const openKey = location.parameters[openName] ?? null
  const close = () => location.go({ [openName]: '' }, { replace: true })
  useHotkeys([
    ['Escape', () => openKey !== null && close()],
    ['/', () => document.querySelector<HTMLElement>('[data-search]')?.focus()],
  ])
  const change = (next: FilterValues) =>
    location.go({ ...Object.fromEntries(names.map((name) => [name, next[name] ?? ''])), [openName]: '' })

  const last = pages.data?.pages.at(-1)
  const isCutShort =
    searchMs !== undefined && last !== undefined && last.next_cursor !== null && last.data.length < pageSize
  // Read here, so that React renders again when a fetch ends: a query reports only members that were read.
  const canLoadMore = pages.hasNextPage && !isCutShort && !pages.isFetching && !pages.isError
  const more = () => void pages.fetchNextPage()
  const [isTop, setTop] = useState(true)
  const [hasNew, setNew] = useState(false)
  const isFollowing = isTop && (pages.data?.pages.length ?? 0) <= maxLivePages
  const showNew = () => {
    setNew(false)
    void pages.refetch()
  }
  useLive(liveKind, () => setNew(true))
  const isBehind = hasNew && isFollowing && !pages.isFetching
  useEffect(() => {
    if (isBehind) showNew()
  }, [isBehind])
  const hasText = line !== undefined || filters.some(({ values }) => values === undefined)
  const keys = [
    ['j k', 'move'],
    ...(detail === undefined ? [] : [['Enter', 'open']]),
    ...(actions === undefined ? [] : [['x', 'select']]),
    ...(hasText ? [['/', 'filter']] : []),
  ]

  return (
    <div className="ui-fill ui-split">
      <div className="ui-fill">
        {(names.length > 0 || actions !== undefined) && (
          <div className="ui-bar" role={names.length > 0 ? 'search' : undefined}>
            {line !== undefined && (
              <TextFilter
                label="Filter"
                placeholder={line.placeholder}
                value={line.format(filter)}
                onChange={(text) => change(line.parse(text))}
              />
            )}
            <FilterFields filters={filters} values={filter} onChange={change} />
            <span className="ui-row ui-bar-end">
              {selection.keys.size > 0 && <span role="status">{formatCount(selection.keys.size)} selected</span>}
              {shown !== undefined && shown.length > 0 && actions?.({ keys: [...selection.keys], filter })}
              {links?.(query())}
            </span>
          </div>
        )}
        {above}
        <Failure error={pages.error} onRetry={() => (pages.isFetchNextPageError ? more() : showNew())} />
        {shown === undefined && pages.error === null && <Skeleton />}
        {shown !== undefined && (
          <DataTable
            isMain
            caption={caption}
            columns={columns}
            rows={shown}
            rowKey={rowKey}
            openKey={openKey}
            onTop={setTop}
            onEnd={() => canLoadMore && more()}
            empty={pages.hasNextPage ? null : isFiltered ? <NoMatch onClear={() => change({})} /> : empty}
            {...(actions !== undefined && { selection })}
            {...(detail !== undefined && { hrefOf: (row: Row) => location.hrefWith({ [openName]: rowKey(row) }) })}
          />
        )}
        <div className="ui-foot">
          <span className="ui-row" role="status">
            {shown !== undefined && `${formatCount(shown.length)} loaded${pages.hasNextPage ? ', more available' : ''}`}
            {isCutShort && (
              <>
                · searched to <Time at={last.searched_to} /> UTC
                <Button size="compact-xs" variant="default" loading={pages.isFetchingNextPage} onClick={more}>
                  Search further
                </Button>
              </>
            )}
            {hasNew && !isFollowing && (
              <Button size="compact-xs" onClick={showNew}>
                Show new {caption.toLowerCase()}
              </Button>
            )}
          </span>
          <span className="ui-row ui-wide-only">
            {keys.map(([key, name]) => (
              <span key={key}>
                <Kbd>{key}</Kbd> {name}
              </span>
            ))}
          </span>
        </div>
      </div>
      {detail !== undefined && openKey !== null && (
        <SidePanel
          title={detail.title?.(openKey) ?? detail.label}
          label={detail.label}
          actions={detail.actions?.(openKey)}
          onClose={close}
        >
          {rows === undefined && pages.error === null ? (
            <Skeleton />
          ) : (
            detail.render(
              openKey,
              rows?.find((row) => rowKey(row) === openKey),
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

interface FilterFieldsProps {
  readonly filters: readonly Filter[]
  readonly values: FilterValues
  readonly onChange: (values: FilterValues) => void
}

/** A select or text field per filter; behind a button on narrow screens. */
function FilterFields({ filters, values, onChange }: FilterFieldsProps) {
  const [isOpen, setOpen] = useState(false)
  if (filters.length === 0) return null
  const set = filters.filter(({ name }) => values[name] !== undefined).length
  return (
    <>
      <Button variant="default" className="ui-narrow-only" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {set === 0 ? 'Filters' : `Filters (${set})`}
      </Button>
      <span className={isOpen ? 'ui-row' : 'ui-row ui-wide-only'}>
        {filters.map((filter) => (
          <FilterField
            key={filter.name}
            filter={filter}
            value={values[filter.name] ?? ''}
            onChange={(value) => onChange({ ...values, [filter.name]: value })}
          />
        ))}
      </span>
    </>
  )
}

interface FilterFieldProps {
  readonly filter: Filter
  readonly value: string
  readonly onChange: (value: string) => void
}

function FilterField({ filter: { label, values }, value, onChange }: FilterFieldProps) {
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

interface TextFilterProps {
  readonly label: string
  readonly value: string
  readonly placeholder?: string
  readonly onChange: (value: string) => void
}

/** A text that takes effect with Enter, or when the field is left. The key `/` moves the focus to it. */
function TextFilter({ label, value, placeholder = label, onChange }: TextFilterProps) {
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

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty title="Nothing matches the filter">
      <Button variant="default" onClick={onClear}>
        Clear filter
      </Button>
    </Empty>
  )
}
