import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

export interface Command {
  /** Program and arguments, without a shell. */
  readonly command: readonly string[]
  readonly cwd: string
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** Standard input. The command need not read it. */
  readonly input: Uint8Array
  /** On abort the process group of the command is killed. */
  readonly signal: AbortSignal
}

export interface CommandEnd {
  /** Null: a signal ended it. */
  readonly exitCode: number | null
  readonly signal: string | null
  /** First 4 KiB. */
  readonly stdout: string
  readonly stderr: string
}

const maxOutputBytes = 4 * 1024
/** How long to wait for output after the command ended: a child process may keep the pipe open. */
const lingerMs = 500

/** Runs a command. Throws if it can't be started, or the reason of `signal` after it was killed. */
export async function runCommand({ command, cwd, env, input, signal }: Command): Promise<CommandEnd> {
  signal.throwIfAborted()
  const [program = '', ...parameters] = command
  // In its own process group, so that it can be killed with its children.
  const child = spawn(program, parameters, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = Promise.withResolvers<{ exitCode: number | null; signal: string | null }>()
  const closed = Promise.withResolvers<void>()
  child.once('error', (error) =>
    ended.reject(new Error(`the command ${program} could not be started in ${cwd}: ${codeOf(error)}`)),
  )
  // Without a pid only the `error` event follows.
  if (child.pid === undefined) await ended.promise
  child.once('exit', (exitCode, endSignal) => ended.resolve({ exitCode, signal: endSignal }))
  child.once('close', () => closed.resolve())
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  // The command may end without reading its standard input.
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

/** Reads everything, so that the command never blocks, and stores the start. */
function collect(stream: Readable): readonly Buffer[] {
  const chunks: Buffer[] = []
  let remaining = maxOutputBytes
  stream.on('data', (chunk: Buffer) => {
    if (remaining <= 0) return
    chunks.push(chunk.subarray(0, remaining))
    remaining -= chunk.length
  })
  stream.on('error', () => {})
  return chunks
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString()
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message
}
