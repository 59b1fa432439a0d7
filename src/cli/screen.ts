import { stripVTControlCharacters, styleText } from 'node:util'

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
