import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
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

/** Disposing of it kills the process, if that still runs. */
export interface CliProcess extends Disposable {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** Resolves when it has ended and all its output was read. */
  readonly ended: Promise<CliResult>
}

/** Starts `onchain-inbox` in a process of its own, with no settings but the given ones. */
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

export function runCli(args: readonly string[], options: CliOptions): Promise<CliResult> {
  return startCli(args, options).ended
}

/** A program that runs the command line in a terminal of its own, so many columns wide (needs script). */
export function inTerminal(args: readonly string[], columns: number): readonly string[] {
  const quoted = [process.execPath, cliFile, ...args].map((word) => `'${word}'`)
  return ['script', '-qefc', `stty cols ${columns}; ${quoted.join(' ')}`, '/dev/null']
}

/** The arguments that have a command print for people, as on a terminal, unless they ask for JSON. */
export function forPeople(args: readonly string[]): readonly string[] {
  return args.includes('--json') ? args : [...args, '--table']
}
