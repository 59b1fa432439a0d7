import { spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { tmpdir } from 'node:os'
import { PassThrough, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Host } from '../../src/cli/host.ts'
import { runCommand } from '../../src/cli/program.ts'
import { compileCache } from './compile-cache.ts'

/** The file that `node` runs as `onchain-inbox`. */
export const cliFile = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

/** The umask before any command: a command changes it for the whole process. */
const umask = process.umask()

export interface CliOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

export interface CliResult {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

/** A command that runs in this process. */
export interface CliRun {
  readonly stdout: Readable
  /** Output so far. */
  readonly text: { readonly out: string; readonly errors: string }
  readonly ended: Promise<CliResult>
  /** Sends a signal to the command only. */
  readonly kill: (signal?: NodeJS.Signals) => void
}

export interface RunOptions extends CliOptions {
  /** All of standard input. */
  readonly stdin?: string | Uint8Array
  /** Makes standard output a terminal of this width, without colours. */
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
      exited.reject(new Error('the command called exit'))
    },
    exitCode: undefined as number | undefined,
  })
  const ended = Promise.race([runCommand(args, host as unknown as Host), exited.promise.catch(() => {})]).then(
    (): CliResult => {
      process.umask(umask)
      return { code: host.exitCode ?? 0, ...text }
    },
  )
  return { stdout, text, ended, kill: (signal = 'SIGTERM') => void signals.emit(signal) }
}

export function runCli(args: readonly string[], options: RunOptions): Promise<CliResult> {
  return beginCli(args, options).ended
}

/** Starts `onchain-inbox` in its own process, for behaviour that needs one. Disposing kills it. */
export function startCli(args: readonly string[], { cwd, env = {} }: CliOptions) {
  const child = spawn(process.execPath, [cliFile, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, errors] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  /** Resolves when it has exited and all output is read. */
  const ended = new Promise<CliResult>((resolve) => child.on('close', (code) => resolve({ code, out, errors })))
  return { child, ended, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

/** A command that runs another one in a terminal (needs script). */
export function inTerminal(command: readonly string[], columns = 80): readonly string[] {
  const quoted = command.map((word) => `'${word}'`)
  return ['script', '-qefc', `stty cols ${columns}; exec ${quoted.join(' ')}`, '/dev/null']
}

/** Runs a program, and returns its standard output. */
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
