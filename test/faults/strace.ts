import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * Words for a command that is traced from its start, with a fault injected: `fsync:signal=KILL:when=3`. Not with
 * `--seccomp-bpf`, under which strace 6.1 forgets to send the signal.
 */
export function straceCommand(fault: string, command: readonly string[]): readonly string[] {
  const call = fault.slice(0, fault.indexOf(':'))
  return ['strace', '-f', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${fault}`, ...command]
}

/**
 * Injects a fault into a running process, all threads of it, from now on: `fsync:error=EIO`. Disposing of it takes the fault
 * away; the process goes on. Counts (`when=`) are per thread.
 */
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
  const said: string[] = []
  const attached = new Promise<void>((resolve, reject) => {
    createInterface({ input: strace.stderr }).on('line', (line) => {
      said.push(line)
      if (/^strace: Process \d+ attached/.test(line)) resolve()
    })
    strace.once('error', reject)
    strace.once('close', () => reject(new Error(`strace ended: ${said.join('\n')}`)))
  })
  try {
    await attached
  } catch (error) {
    await dispose()
    throw error
  }
  return { [Symbol.asyncDispose]: dispose }
}
