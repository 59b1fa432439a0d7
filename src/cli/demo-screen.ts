import { printBytes } from './output.ts'

/** Lines one below the other, and on a terminal one at the bottom that is redrawn. */
export interface Screen {
  line(text: string): void
  /** Draws the line at the bottom anew. */
  refresh(): void
  /** Idempotent. After it there are lines only. */
  end(): void
}

const clear = '\r\u001b[2K'

/** `status` gives the line at the bottom, drawn after each other one. Where no terminal is, there is none. */
export function createScreen(output: NodeJS.WriteStream, status: () => string): Screen {
  let isEnded = !output.isTTY
  // One character less than fits: else some terminals begin the next line.
  const fitted = () => status().slice(0, Math.max(0, output.columns - 1))

  return {
    line: (text) => printBytes(isEnded ? `${text}\n` : `${clear}${text}\n${fitted()}`),
    refresh() {
      if (!isEnded) printBytes(`${clear}${fitted()}`)
    },
    end() {
      if (!isEnded) printBytes(clear)
      isEnded = true
    },
  }
}
