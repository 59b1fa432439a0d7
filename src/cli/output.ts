import { InboxError, messageOf } from '../errors.ts'

/** Options that every command has. */
export interface OutputOptions {
  readonly json?: boolean
}

/** Prints a result: one JSON document with `--json`, otherwise what `render` makes of it for people. */
export function printResult<T>(value: T, options: OutputOptions, render: (value: T) => string): void {
  printBytes(options.json ? `${JSON.stringify(value)}\n` : `${render(value)}\n`)
}

/** Writes a result as it is. A reader that has gone, as `head` does, wanted no more; nothing else may cut it short unnoticed. */
export function printBytes(bytes: string | Uint8Array): void {
  process.stdout.write(bytes, (error?: NodeJS.ErrnoException | null) => {
    if (!error || error.code === 'EPIPE') return
    process.exit(printError(new InboxError('usage', `standard output cannot be written (${error.message})`), {}))
  })
}

/** Reports a failed command on standard error and gives its exit code: 1 = mend something, 75 = try again. */
export function printError(thrown: unknown, options: OutputOptions): 1 | 75 {
  const error = thrown instanceof InboxError ? thrown : new InboxError('internal', messageOf(thrown), { cause: thrown })
  if (options.json) {
    process.stderr.write(`${JSON.stringify({ error: { code: error.code, message: error.message } })}\n`)
  } else {
    const stack = error.code === 'internal' && thrown instanceof Error ? `\n${thrown.stack ?? ''}` : ''
    process.stderr.write(`${error.code}: ${error.message}${stack}\n`)
  }
  return error.exitCode
}

export function times(count: number): string {
  return count === 1 ? '1 time' : `${count} times`
}

/** A plain table for a terminal: columns as wide as their widest cell, two spaces between. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)].join('\n')
}
