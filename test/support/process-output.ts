import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { messageOf } from '../../src/base/errors.ts'

/** One line of JSON that a process logged. */
export interface LogLine {
  readonly msg: string
  readonly [name: string]: unknown
}

interface Waiting {
  readonly matches: (line: LogLine) => boolean
  readonly resolve: (line: LogLine) => void
  readonly reject: (error: Error) => void
}

/** What a service printed, over all of its lives. */
export class ProcessOutput {
  #text = ''
  #lines: LogLine[] = []
  readonly #waiting = new Set<Waiting>()

  /** Everything on standard output and standard error so far, of all lives. */
  get text(): string {
    return this.#text
  }

  /** The log lines of the present life. */
  get lines(): readonly LogLine[] {
    return this.#lines
  }

  /** Begins a new life. */
  attach(child: ChildProcess): void {
    const lines: LogLine[] = []
    this.#lines = lines
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (text) => {
        this.#text += `${text}\n`
        const line = parseLogLine(text)
        if (line === undefined) return
        lines.push(line)
        for (const waiting of this.#waiting) if (waiting.matches(line)) waiting.resolve(line)
      })
    }
    child.once('close', (code, signal) => {
      for (const waiting of this.#waiting) waiting.reject(new Error(`it ended (${code ?? signal}) first`))
    })
  }

  /** The first line of this life that matches; waits for it. Throws, with what was printed, if none comes. */
  async waitFor(matches: (line: LogLine) => boolean, what: string, deadlineMs: number): Promise<LogLine> {
    const found = this.#lines.find(matches)
    if (found !== undefined) return found
    const { promise, resolve, reject } = Promise.withResolvers<LogLine>()
    const waiting = { matches, resolve, reject }
    this.#waiting.add(waiting)
    const timer = setTimeout(() => reject(new Error(`it did not come within ${deadlineMs} ms`)), deadlineMs)
    try {
      return await promise
    } catch (error) {
      throw new Error(`waited for ${what}, but ${messageOf(error)}; so far:\n${this.#text.slice(-5_000)}`, {
        cause: error,
      })
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(waiting)
    }
  }
}

function parseLogLine(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'msg' in value ? (value as LogLine) : undefined
  } catch {
    return undefined
  }
}
