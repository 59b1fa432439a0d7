import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

export interface Command {
  /** Program and arguments. No shell reads them. */
  readonly command: readonly string[]
  readonly cwd: string
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>
  /** What it gets on its standard input. It need not read it. */
  readonly input: Uint8Array
  /** When it is aborted, the command is killed, and with it all that it started and that is still of its process group. */
  readonly signal: AbortSignal
}

export interface CommandEnd {
  /** Null if a signal ended it. */
  readonly exitCode: number | null
  readonly signal: string | null
  /** The beginning of what it wrote to its standard output. */
  readonly stdout: string
  readonly stderr: string
}

const keptOfOutput = 4 * 1024
/** How long output is waited for once the command has ended: what it left running may hold the pipe open. */
const lingerMs = 500

/**
 * Runs a command to its end, whatever that is. Throws an Error if it cannot be started, and the reason of `signal` if that is
 * aborted, once the command has been killed.
 */
export async function runCommand({ command, cwd, env, input, signal }: Command): Promise<CommandEnd> {
  signal.throwIfAborted()
  const [program = '', ...parameters] = command
  // A process group of its own, so that it can be killed with its children.
  const child = spawn(program, parameters, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = Promise.withResolvers<{ exitCode: number | null; signal: string | null }>()
  const closed = Promise.withResolvers<void>()
  child.once('error', (error) =>
    ended.reject(new Error(`the command ${program} could not be started in ${cwd}: ${codeOf(error)}`)),
  )
  // Where the system had not even its pipes to give, there is nothing of it but `error`.
  if (child.pid === undefined) await ended.promise
  child.once('exit', (exitCode, endSignal) => ended.resolve({ exitCode, signal: endSignal }))
  child.once('close', () => closed.resolve())
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  // It may end, or close its standard input, without having read it.
  child.stdin.on('error', () => {})
  child.stdin.end(input)

  const kill = () => killGroup(child.pid)
  signal.addEventListener('abort', kill, { once: true })
  try {
    const end = await ended.promise
    signal.throwIfAborted()
    const linger = setTimeout(closed.resolve, lingerMs)
    await closed.promise
    clearTimeout(linger)
    return { ...end, stdout: textOf(stdout), stderr: textOf(stderr) }
  } finally {
    signal.removeEventListener('abort', kill)
    for (const stream of child.stdio) stream?.destroy()
  }
}

/** Reads all, so that the command is never held up, and keeps the beginning. */
function collect(stream: Readable): readonly Buffer[] {
  const kept: Buffer[] = []
  let left = keptOfOutput
  stream.on('data', (chunk: Buffer) => {
    if (left <= 0) return
    kept.push(chunk.subarray(0, left))
    left -= chunk.length
  })
  stream.on('error', () => {})
  return kept
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString()
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message
}
