import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { messageOf } from '../../src/base/errors.ts'

/** A JSON line of a process. */
export interface LogLine {
  readonly msg: string
  readonly [name: string]: unknown
}

interface Waiting {
  readonly matches: (line: LogLine) => boolean
  readonly resolve: (line: LogLine) => void
  readonly reject: (error: Error) => void
}

/** Collects the output of a process across restarts. */
export class ProcessOutput {
  #text = ''
  #lines: LogLine[] = []
  readonly #waiting = new Set<Waiting>()

  /** All output so far, across restarts. */
  get text(): string {
    return this.#text
  }

  /** Log lines since the last start. */
  get lines(): readonly LogLine[] {
    return this.#lines
  }

  /** Collects the output of a restarted process. */
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

  /** Waits for the first matching line since the last start. Throws with the output if none comes. */
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
