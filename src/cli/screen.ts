import { stripVTControlCharacters, styleText } from 'node:util'
import { host } from './host.ts'

export type Tone = 'bold' | 'green' | 'red' | 'yellow' | 'cyan' | 'gray'

/** What can be shown at once, and how. */
export interface Screen {
  /** Infinity where no terminal is, or none that says how wide it is. */
  readonly columns: number
  /** Colours the text, if colours are wanted. */
  paint(tone: Tone, text: string): string
}

/** Colours are for terminals: none with NO_COLOR, and also elsewhere with FORCE_COLOR. */
export function screenOf(stream: NodeJS.WriteStream): Screen {
  const { columns } = stream
  return {
    columns: stream.isTTY && columns > 0 ? columns : Infinity,
    paint: (tone, text) => styleText(tone, text, { stream }),
  }
}

/** Whether text for `stream` is to be coloured. */
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

/** The colour of a word that says how something stands; undefined = none. */
export function toneOf(state: string): Tone | undefined {
  return tones.find(([, words]) => words.test(state))?.[0]
}

/** A line on standard error that is written over as work goes on; nothing where that is no terminal. */
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
