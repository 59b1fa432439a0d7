import { useVirtualizer } from '@tanstack/react-virtual'
import { useMediaQuery } from '@mantine/hooks'
import { useEffect, useRef, type ReactNode } from 'react'

export interface VirtualColumn<Row> {
  readonly header: string
  readonly cell: (row: Row) => ReactNode
}

export interface VirtualTableProps<Row> {
  /** What the rows are, heard. */
  readonly caption: string
  readonly columns: readonly VirtualColumn<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Class of header and rows, which lays their cells out. */
  readonly layout: string
  /** The end of the rows is near. */
  readonly onEnd: () => void
  /** How far it is scrolled, in pixels. */
  readonly onScroll: (top: number) => void
  /** How far it is scrolled at first. */
  readonly initialOffset: number
}

/** Heights in pixels, as ui-virtual.css has them. */
const rowHeight = 41
const narrowRowHeight = 73
/** So many rows before the end more are asked for. */
const endRows = 30

/** A table of any number of rows: only those that are seen, and a few around them, are in the page. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { caption, columns, rows, rowKey, layout, onEnd, onScroll, initialOffset } = props
  const box = useRef<HTMLDivElement>(null)
  const isNarrow = useMediaQuery('(max-width: 52rem)', false, { getInitialValueInEffect: false })
  const height = isNarrow ? narrowRowHeight : rowHeight
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    getItemKey: (index) => rowKey(rows[index] as Row),
    overscan: 12,
    initialOffset,
  })
  useEffect(() => virtualizer.measure(), [virtualizer, height])

  const items = virtualizer.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const isNearEnd = last >= rows.length - endRows
  useEffect(() => {
    if (isNearEnd) onEnd()
  }, [isNearEnd, rows.length, onEnd])

  return (
    <div ref={box} className="ui-virtual" data-row-box onScroll={(event) => onScroll(event.currentTarget.scrollTop)}>
      <div role="table" aria-label={caption} aria-rowcount={rows.length + 1}>
        <div role="rowgroup" className="ui-virtual-head">
          <div role="row" aria-rowindex={1} className={layout}>
            {columns.map(({ header }) => (
              <span key={header} role="columnheader">
                {header}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="ui-virtual-rows" style={{ height: virtualizer.getTotalSize() }}>
          {items.map(({ index, key, start }) => (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              data-row
              className={`ui-virtual-row ${layout}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              {columns.map(({ header, cell }) => (
                <span key={header} role="cell">
                  {cell(rows[index] as Row)}
                </span>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}
