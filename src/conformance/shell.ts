import { spawn } from 'node:child_process'
import type { Clock } from '../clock.ts'

export interface ShellOptions {
  readonly clock: Clock
  readonly limitMs: number
  readonly signal: AbortSignal
  /** Whether its output is wanted. If not, it may leave processes behind that go on. */
  readonly isRead: boolean
}

const longestOutput = 64 * 1024 * 1024

/**
 * Runs a shell command without input and gives its standard output.
 *
 * @throws Error that says why it was of no use, without any of its output
 */
export function runShell(command: string, { clock, limitMs, signal, isRead }: ShellOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, {
      shell: true,
      // A group of its own, so that all of it can be ended.
      detached: true,
      stdio: ['ignore', isRead ? 'pipe' : 'ignore', 'ignore'],
    })
    const chunks: Buffer[] = []
    let length = 0
    const giveUp = (why: string) => {
      reject(new Error(why))
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It ended in this very moment.
      }
    }
    const onAbort = () => giveUp('it was interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    const deadline = clock.after(limitMs, () => giveUp(`the command did not end within ${limitMs / 1_000} s`))
    child.stdout?.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > longestOutput) giveUp(`the command printed more than ${longestOutput} bytes`)
    })
    child.on('error', reject)
    child.on(isRead ? 'close' : 'exit', (code: number | null, endedBy: NodeJS.Signals | null) => {
      deadline.cancel()
      signal.removeEventListener('abort', onAbort)
      if (code === 0) resolve(Buffer.concat(chunks).toString())
      else reject(new Error(`the command ended with ${code ?? endedBy}; run it by hand to see what it prints`))
    })
  })
}
