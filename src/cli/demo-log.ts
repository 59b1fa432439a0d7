/** A line of the log, as it was written down. */
export interface LogEntry {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** A line that a thread of handlers has put out, as a line of the log; null if it is something that a handler has printed. */
export function parseLogEntry(line: string): LogEntry | null {
  const value = parseObject(line)
  const isEntry = ['level', 'time', 'msg'].every((name) => typeof value?.[name] === 'string')
  return isEntry ? (value as unknown as LogEntry) : null
}

/** The object that a line of JSON is; null if it is none. */
export function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  try {
    return line.startsWith('{') ? (JSON.parse(line) as Readonly<Record<string, unknown>>) : null
  } catch {
    return null
  }
}
