import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { tmpdir } from 'node:os'
import { PassThrough, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Host } from '../../src/cli/host.ts'
import { runCommand } from '../../src/cli/program.ts'
import { compileCache } from './compile-cache.ts'

/** The file that `node` runs as `onchain-inbox`. */
export const cliFile = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

export interface CliOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

export interface CliResult {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

/** A command under way in this process, with no settings but the given ones. */
export interface CliRun {
  readonly stdout: Readable
  /** What it has printed so far. */
  readonly text: { readonly out: string; readonly errors: string }
  readonly ended: Promise<CliResult>
  /** Sends a signal, to the command alone. */
  readonly kill: (signal?: NodeJS.Signals) => void
}

export interface RunOptions extends CliOptions {
  /** All of standard input. */
  readonly stdin?: string | Uint8Array
  /** Makes standard output a terminal without colours, so many columns wide. */
  readonly columns?: number
}

/** Starts `onchain-inbox` in this process. */
export function beginCli(args: readonly string[], { cwd, env = {}, stdin, columns }: RunOptions): CliRun {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  if (columns !== undefined) Object.assign(stdout, { isTTY: true, columns, getColorDepth: () => 1 })
  const text = { out: '', errors: '' }
  stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()))
  stderr.on('data', (chunk: Buffer) => (text.errors += chunk.toString()))
  const exited = Promise.withResolvers<never>()
  const signals = new EventEmitter()
  const host = Object.assign(signals, {
    stdout,
    stderr,
    stdin: Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]),
    env: { ...env },
    cwd: () => cwd,
    exit(code?: number) {
      host.exitCode = code
      exited.reject(new Error('the command has ended its process'))
    },
    exitCode: undefined as number | undefined,
  })
  const ended = Promise.race([runCommand(args, host as unknown as Host), exited.promise.catch(() => {})]).then(
    (): CliResult => ({ code: host.exitCode ?? 0, ...text }),
  )
  return { stdout, text, ended, kill: (signal = 'SIGTERM') => void signals.emit(signal) }
}

export function runCli(args: readonly string[], options: RunOptions): Promise<CliResult> {
  return beginCli(args, options).ended
}

/** Disposing of it kills the process, if that still runs. */
export interface CliProcess extends Disposable {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** Resolves when it has ended and all its output was read. */
  readonly ended: Promise<CliResult>
}

/** Starts `onchain-inbox` in a process of its own, with no settings but the given ones. For what only a process shows. */
export function startCli(args: readonly string[], { cwd, env = {} }: CliOptions): CliProcess {
  const child = spawn(process.execPath, [cliFile, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, errors] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const ended = new Promise<CliResult>((resolve) => child.on('close', (code) => resolve({ code, out, errors })))
  return { child, ended, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

/** A program that runs another one in a terminal of its own, so many columns wide (needs script). */
export function inTerminal(command: readonly string[], columns = 80): readonly string[] {
  const quoted = command.map((word) => `'${word}'`)
  return ['script', '-qefc', `stty cols ${columns}; exec ${quoted.join(' ')}`, '/dev/null']
}

/** All that a program prints. */
export async function outputOf([program = '', ...args]: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(program, args, {
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'], TERM: 'xterm', NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await new Promise((resolve) => child.on('close', resolve))
  return text
}
