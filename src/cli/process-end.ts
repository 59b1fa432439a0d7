import { setTimeout as wait } from 'node:timers/promises'

const flushMs = 200
const threadEndMs = 1_000

export type ProcessEnd = ReturnType<typeof prepareEnd>

/**
 * Ends the process even if a thread is stuck in a native call, which Node's own exit would wait for. Call before any
 * thread starts.
 */
export function prepareEnd() {
  let threads = 0
  process.on('worker', (worker) => {
    threads++
    worker.once('exit', () => threads--)
  })

  /** Writes the last output, then ends the process. */
  async function now(code: number): Promise<void> {
    await Promise.race([new Promise((resolve) => process.stdout.write('', resolve)), wait(flushMs)])
    // `process.exit` joins all threads, so a thread stuck in a native call blocks it. SIGKILL doesn't end PID 1 of a container.
    const isAllowed = process.permission?.has('child') ?? true
    if (threads > 0 && process.execve !== undefined && isAllowed) {
      const env = { ...process.env, NODE_OPTIONS: '' }
      process.execve(process.execPath, [process.execPath, '--disable-sigusr1', '-e', `process.exit(${code})`], env)
    }
    process.exit(code)
  }

  return {
    now,
    /** Ends the process with its exit code if a thread still runs after one second; else returns. */
    async ifStuck(): Promise<void> {
      for (let waitedMs = 0; threads > 0; waitedMs += 10) {
        if (waitedMs >= threadEndMs) return now(Number(process.exitCode ?? 0))
        await wait(10)
      }
    },
  }
}
