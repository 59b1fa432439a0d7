import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * The command with a fault from its start, such as `fsync:signal=KILL:when=3`. Without `--seccomp-bpf`, because strace 6.1 doesn't send
 * the signal then.
 */
export function straceCommand(fault: string, command: readonly string[]): readonly string[] {
  const call = fault.slice(0, fault.indexOf(':'))
  return ['strace', '-f', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${fault}`, ...command]
}

/** Injects a fault into all threads of a running process, until it is disposed: `fsync:error=EIO`. Counts (`when=`) are per thread. */
export async function injectFault(pid: number, fault: string): Promise<AsyncDisposable> {
  const [program = '', ...args] = straceCommand(fault, ['-p', String(pid)])
  const strace = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise<void>((resolve) => strace.once('close', () => resolve()))
  const killWithUs = () => void strace.kill('SIGKILL')
  process.once('exit', killWithUs)
  const dispose = async () => {
    strace.kill('SIGINT')
    await ended
    process.off('exit', killWithUs)
  }
  const lines: string[] = []
  const attached = new Promise<void>((resolve, reject) => {
    createInterface({ input: strace.stderr }).on('line', (line) => {
      lines.push(line)
      if (/^strace: Process \d+ attached/.test(line)) resolve()
    })
    strace.once('error', reject)
    strace.once('close', () => reject(new Error(`strace ended: ${lines.join('\n')}`)))
  })
  try {
    await attached
  } catch (error) {
    await dispose()
    throw error
  }
  return { [Symbol.asyncDispose]: dispose }
}
