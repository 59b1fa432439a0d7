import { stripVTControlCharacters, styleText } from 'node:util'
import { host } from './host.ts'

export type Tone = 'bold' | 'green' | 'red' | 'yellow' | 'cyan' | 'gray'

/** Width and colours of an output. */
export interface Screen {
  /** Infinity without a terminal, or if its width is unknown. */
  readonly columns: number
  /** Colours the text if colours are on. */
  paint(tone: Tone, text: string): string
}

/** Colours are on for terminals. NO_COLOR turns them off, FORCE_COLOR on. */
export function screenOf(stream: NodeJS.WriteStream): Screen {
  const { columns } = stream
  return {
    columns: stream.isTTY && columns > 0 ? columns : Infinity,
    paint: (tone, text) => styleText(tone, text, { stream }),
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
