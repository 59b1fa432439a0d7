import { silentLogger, type Logger } from '../../src/base/log.ts'

export interface RecordedLine {
  readonly level: string
  readonly message: string
  readonly fields: object
}

/** A log that keeps warnings and errors. */
export function recordingLog(): { readonly log: Logger; readonly lines: readonly RecordedLine[] } {
  const lines: RecordedLine[] = []
  const write = (level: string) => (fields: object, message: string) => void lines.push({ level, message, fields })
  const log = Object.assign(Object.create(silentLogger) as Logger, {
    warn: write('warn'),
    error: write('error'),
    fatal: write('fatal'),
  })
  return { log, lines }
}
