import { createRequire } from 'node:module'
import type StringWidth from 'string-width'
import { safeText } from '../base/log.ts'
import { host } from './host.ts'
import { screenOf, toneOf, type Screen } from './output.ts'

/** A table of the rows' fields. Fields of inner objects are named by paths, such as `token_in.symbol`. */
export function renderList(
  columns: readonly string[],
  rows: readonly object[],
  nextCursor: string | null = null,
  none = 'nothing found',
): string {
  const cells = rows.map((row) => {
    const texts = new Map(cellsOf(row))
    return columns.map((column) => texts.get(column) ?? '-')
  })
  const more = nextCursor === null ? '' : `\n\nmore: --cursor ${nextCursor}`
  return `${rows.length === 0 ? none : renderTable(columns, cells)}${more}`
}

/** A table of an object's fields. Texts of several lines follow below it. */
export function renderRecord(title: string, value: object): string {
  const cells = cellsOf(value)
  const blocks = cells.flatMap(([, text]) => {
    const lines = text.trimEnd().split('\n')
    return lines.length === 1 ? [] : [lines.map((line) => safeText(line, Infinity)).join('\n')]
  })
  const rows = cells.filter(([, text]) => !text.trimEnd().includes('\n'))
  return [renderTable([title, ''], rows), ...blocks].join('\n\n')
}

/** Fields with their texts. */
function cellsOf(value: object, prefix = ''): readonly (readonly [field: string, text: string])[] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const field = `${prefix}${name}`
    if (typeof member !== 'object' || member === null || Object.getPrototypeOf(member) !== Object.prototype)
      return [[field, textOf(member)] as const]
    const { name: error, message, ...rest } = member as { readonly name?: unknown; readonly message?: unknown }
    if (typeof message !== 'string') return cellsOf(member, `${field}.`)
    return [[field, `${String(error)}: ${message}`] as const, ...cellsOf(rest, `${field}.`)]
  })
}

function textOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join(', ') : JSON.stringify(value)
}

/** Columns that may be shortened. People copy values of the others into commands. */
const proseColumns: ReadonlySet<string> = new Set(
  'error reason preview filter description origin url events label features location'.split(' '),
)
const stateColumns: ReadonlySet<string> = new Set(['status', 'state', 'outcome'])
/** Columns up to this width, such as times, are never shortened. */
const shortCell = 24
const minColumnWidth = 12
const gap = '  '

/**
 * Formats a table with two spaces between columns. On a terminal the widest cells of `proseColumns` are shortened until a line
 * fits. Control characters are escaped in every cell.
 */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  screen: Screen = screenOf(host().stdout),
): string {
  const cells = rows.map((row) => head.map((_, column) => safeText(row[column] ?? '', Infinity)))
  const widths = fitColumns(head, cells, screen.columns)
  const line = (row: readonly string[], paint: (text: string, title: string) => string) =>
    row
      .map((cell, column) => {
        const [title = '', width = 0] = [head[column], widths[column]]
        const text = cutText(cell, width)
        return paint(text, title) + ' '.repeat(width - textWidth(text))
      })
      .join(gap)
      .trimEnd()
  const paintCell = (text: string, title: string) => {
    const tone = stateColumns.has(title) ? toneOf(text) : undefined
    return tone === undefined ? text : screen.paint(tone, text)
  }
  const paintTitle = (text: string) => (text === '' ? text : screen.paint('bold', text))
  return [line(head, paintTitle), ...cells.map((row) => line(row, paintCell))].join('\n')
}

function fitColumns(
  head: readonly string[],
  cells: readonly (readonly string[])[],
  columns: number,
): readonly number[] {
  const widths = head.map((title, column) =>
    Math.max(textWidth(title), ...cells.map((row) => textWidth(row[column] ?? ''))),
  )
  const canShrink = head.map((title, column) => proseColumns.has(title) && (widths[column] ?? 0) > shortCell)
  let excess = widths.reduce((sum, width) => sum + width, gap.length * (head.length - 1)) - columns
  for (; excess > 0; excess--) {
    const shrinkable = widths.map((width, column) => (canShrink[column] && width > minColumnWidth ? width : 0))
    const widest = Math.max(...shrinkable)
    if (widest === 0) break
    widths[shrinkable.indexOf(widest)] = widest - 1
  }
  return widths
}

const isPlain = /^[\x20-\x7e]*$/
const require = createRequire(import.meta.url)

/** Terminal columns of a text without control characters. */
function textWidth(text: string): number {
  if (isPlain.test(text)) return text.length
  // Loaded on demand: it takes as long to load as the rest of a command.
  const { default: stringWidth } = require('string-width') as { readonly default: typeof StringWidth }
  return stringWidth(text)
}

/** Shortens text to `width` columns, with `…` at its end. */
function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let cut = ''
  for (const { segment } of new Intl.Segmenter('en').segment(text)) {
    if (textWidth(cut + segment) >= width) break
    cut += segment
  }
  return `${cut}…`
}
