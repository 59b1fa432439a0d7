import { Option, type Command } from 'commander'
import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { host } from './host.ts'
import { screenOf } from './screen.ts'

export { renderTable } from './table.ts'

/** Options that every command has. */
export interface OutputOptions {
  readonly json?: boolean
  readonly table?: boolean
}

/** Gives a command the options that say how its result is printed. */
export function withOutputOptions(command: Command, json = 'print one JSON document'): Command {
  return command
    .option('--json', json)
    .addOption(new Option('--table', 'print for people, also where no terminal is').conflicts('json'))
}

/**
 * Prints a result: on a terminal, and with `--table`, what `render` makes of it for people; with `--json` one JSON document; and
 * elsewhere one line of JSON, or one for each item of a list.
 */
export function printResult<T>(value: T, options: OutputOptions, render: (value: T) => string): void {
  if (options.json) printJson([value])
  else if (isForPeople(options)) printBytes(`${render(value)}\n`)
  else printLines(value)
}

/** Whether results are printed for people. */
function isForPeople({ json, table }: OutputOptions): boolean {
  return json !== true && (table === true || host().stdout.isTTY)
}

/** Tells a person something beside the result, on standard error. */
export function printNote(text: string): void {
  host().stderr.write(`${text}\n`)
}

function printLines(value: unknown): void {
  if (!isList(value)) return printJson([value])
  printJson(value.data)
  if (typeof value.next_cursor === 'string') printNote(`more: --cursor ${value.next_cursor}`)
}

function printJson(values: readonly unknown[]): void {
  printBytes(values.map((value) => `${escapeForTerminal(JSON.stringify(value))}\n`).join(''))
}

/** A list as the admin API and the REST service give it. */
function isList(value: unknown): value is { readonly data: readonly unknown[]; readonly next_cursor?: unknown } {
  return typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data)
}

/** JSON escapes some control characters, but not all that a terminal, or its reader, could be misled by. They stand in texts only. */
function escapeForTerminal(json: string): string {
  if (!host().stdout.isTTY || safeText(json, Infinity) === json) return json
  return Array.from(json, (character) => {
    if (safeText(character) === character) return character
    return character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  }).join('')
}

/** Writes the bytes of a sender as they are; on a terminal, with all that could mislead it escaped. */
export function printRaw(bytes: Uint8Array): void {
  if (!host().stdout.isTTY) return printBytes(bytes)
  const lines = Buffer.from(bytes).toString().split('\n')
  printBytes(`${lines.map((line) => safeText(line, Infinity)).join('\n')}\n`)
}

/** Writes a result as it is. A reader that has gone, as `head` does, wanted no more; nothing else may cut it short unnoticed. */
export function printBytes(bytes: string | Uint8Array): void {
  if (bytes.length === 0) return
  const { stdout, exit } = host()
  stdout.write(bytes, (error?: NodeJS.ErrnoException | null) => {
    if (!error || error.code === 'EPIPE') return
    exit(printError(new InboxError('usage', `standard output cannot be written (${error.message})`), {}))
  })
}

/** Reports a failed command on standard error and gives its exit code: 1 = mend something, 75 = try again. */
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

export function times(count: number): string {
  return count === 1 ? '1 time' : `${count} times`
}
