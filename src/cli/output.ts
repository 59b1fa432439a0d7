import type StringWidth from 'string-width'
import type { Command } from 'commander'
import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { host } from './host.ts'
import { screenOf, toneOf, type Screen } from './screen.ts'
import { createRequire } from 'node:module'

export interface OutputOptions {
  readonly json?: boolean
}

/** Adds `--json`. */
export function withOutputOptions(command: Command, json = 'print one JSON document'): Command {
  return command.option('--json', json)
}

/** Adds an example to the help of a command that only has commands below it. */
export function asGroup(command: Command, example: string): Command {
  return command.addHelpText('after', `\nExample:\n  $ onchain-inbox ${example}`)
}

/** Prints a result: the text that `render` returns, or with `--json` one JSON document. */
export function printResult<T>(value: T, options: OutputOptions, render: (value: T) => string): void {
  printBytes(options.json ? `${escapeForTerminal(JSON.stringify(value))}\n` : `${render(value)}\n`)
}

/** Prints a note on standard error. */
export function printNote(text: string): void {
  host().stderr.write(`${text}\n`)
}

/** Escapes characters that could mislead a terminal or its reader. JSON itself escapes only some, and they occur only in strings. */
function escapeForTerminal(json: string): string {
  if (!host().stdout.isTTY || safeText(json, Infinity) === json) return json
  return Array.from(json, (character) => {
    if (safeText(character) === character) return character
    return character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  }).join('')
}

/** Writes a sender's bytes unchanged; on a terminal, misleading characters are escaped. */
export function printRaw(bytes: Uint8Array): void {
  if (!host().stdout.isTTY) return printBytes(bytes)
  const lines = Buffer.from(bytes).toString().split('\n')
  printBytes(`${lines.map((line) => safeText(line, Infinity)).join('\n')}\n`)
}

/** Writes to standard output. Ignores EPIPE, because a reader such as `head` stops early. Other errors end the command. */
export function printBytes(bytes: string | Uint8Array): void {
  if (bytes.length === 0) return
  const { stdout, exit } = host()
  stdout.write(bytes, (error?: NodeJS.ErrnoException | null) => {
    if (!error || error.code === 'EPIPE') return
    exit(printError(new InboxError('usage', `can't write to standard output (${error.message})`), {}))
  })
}

/** Reports an error on standard error. Returns the exit code: 1 = fix something first, 75 = try again later. */
export function printError(thrown: unknown, options: OutputOptions): 1 | 75 {
  const error = thrown instanceof InboxError ? thrown : new InboxError('internal', messageOf(thrown), { cause: thrown })
  if (options.json) {
    host().stderr.write(`${JSON.stringify({ error: { code: error.code, message: error.message } })}\n`)
  } else {
    const stack = error.code === 'internal' && thrown instanceof Error ? `\n${withoutUserinfo(thrown.stack ?? '')}` : ''
    const code = screenOf(host().stderr).paint('red', error.code)
    host().stderr.write(`${code}: ${error.message}${stack}\n`)
  }
  return error.exitCode
}

/** A number with its noun: `1 event`, `2 events`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}

/** Columns that are never shortened: values that people copy into commands. The untitled column holds the values of a record. */
const wholeColumns: ReadonlySet<string> = new Set([
  '',
  'id',
  'webhook_id',
  'alert_id',
  'token_address',
  'tx_hash',
  'run',
  'event',
  'replay',
  'handler',
  'name',
  'type',
  'event types',
  'network',
  'address',
  'setting',
  'value',
  'file',
])
const stateColumns: ReadonlySet<string> = new Set(['status', 'state', 'outcome'])
/** Columns up to this width, such as times, are never shortened. */
const shortCell = 24
const minColumnWidth = 12
const gap = '  '

/**
 * Formats a table with two spaces between columns. On a terminal the widest cells are shortened until a line fits, except in
 * `wholeColumns`. Control characters are escaped in every cell.
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
  const canShrink = head.map((title, column) => !wholeColumns.has(title) && (widths[column] ?? 0) > shortCell)
  let excess = widths.reduce((sum, width) => sum + width, gap.length * (head.length - 1)) - columns
  for (; excess > 0; excess--) {
    const open = widths.map((width, column) => (canShrink[column] && width > minColumnWidth ? width : 0))
    const widest = Math.max(...open)
    if (widest === 0) break
    widths[open.indexOf(widest)] = widest - 1
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
