import type { Command } from 'commander'
import { stripVTControlCharacters, styleText } from 'node:util'
import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { host } from './host.ts'

export interface OutputOptions {
  readonly json?: boolean
}

/** Adds `--json`. */
export function withOutputOptions(command: Command, json = 'print one JSON document'): Command {
  return command.option('--json', json)
}

/** Adds examples to the help of a command, below a note. */
export function withExamples(command: Command, examples: readonly string[], note = ''): Command {
  const lines = examples.map((example) => `\n  $ onchain-inbox ${example}`).join('')
  const title = examples.length === 1 ? 'Example' : 'Examples'
  return command.addHelpText('after', `${note && `\n${note}\n`}\n${title}:${lines}`)
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
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}

export type Tone = 'bold' | 'green' | 'red' | 'yellow' | 'cyan' | 'gray'

export type Screen = Readonly<ReturnType<typeof screenOf>>

/** Width and colours of an output. Colours are on for terminals. NO_COLOR turns them off, FORCE_COLOR on. */
export function screenOf(stream: NodeJS.WriteStream) {
  const { columns } = stream
  return {
    /** Infinity without a terminal, or if its width is unknown. */
    columns: stream.isTTY && columns > 0 ? columns : Infinity,
    /** Colours the text if colours are on. */
    paint: (tone: Tone, text: string) => styleText(tone, text, { stream }),
  }
}

/** True if colours are on for `stream`. */
export function hasColors(stream: NodeJS.WriteStream): boolean {
  const painted = screenOf(stream).paint('bold', 'x')
  return painted !== stripVTControlCharacters(painted)
}

const tones: readonly (readonly [Tone, RegExp])[] = [
  ['green', /^(?:done|acknowledged|active|loaded|registered|operational|ok|passed)\b/],
  ['red', /^(?:dead|failed|undelivered|crashed|not loaded|error)\b/],
  ['yellow', /^(?:retry|retrying|held|paused|pending|degraded|maintenance|warning)\b/],
  ['cyan', /^(?:running|triggered)\b/],
  ['gray', /^(?:dropped|expired|superseded|unhandled|cancelled|-$)/],
]

/** Colour of a state; undefined = none. */
export function toneOf(state: string): Tone | undefined {
  return tones.find(([, words]) => words.test(state))?.[0]
}

/** A progress line on standard error; does nothing without a terminal. */
export interface Progress extends Disposable {
  show(done: number, text: string): void
  end(): void
}

const barWidth = 24

export function createProgress(output: NodeJS.WriteStream = host().stderr): Progress {
  if (!output.isTTY) return { show() {}, end() {}, [Symbol.dispose]() {} }
  let isShown = false
  const end = () => {
    if (isShown) output.write('\r\u001b[2K')
    isShown = false
  }
  return {
    /** `done` from 0 to 1. */
    show(done, text) {
      const full = Math.round(Math.min(1, Math.max(0, done)) * barWidth)
      const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
      const line = `${bar} ${String(Math.round(done * 100)).padStart(3)} %  ${text}`
      output.write(`\r\u001b[2K${line.slice(0, Math.max(20, output.columns - 1))}`)
      isShown = true
    },
    end,
    [Symbol.dispose]: end,
  }
}
