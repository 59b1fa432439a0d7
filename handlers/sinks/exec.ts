import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { bodyOf, filePath, headerText, type SinkKind, type SinkSetup, type SinkTools } from './common/kind.ts'
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

const withoutNul = z.string().refine((value) => !value.includes('\0'), { error: 'expected text without NUL' })
const variable = z.string().regex(/^[A-Za-z_]\w*$/, { error: 'expected the name of an environment variable' })

const options = z.strictObject({
  /** Program and arguments, without a shell. */
  command: z.array(withoutNul).min(1),
  /** Working folder, relative to the folder of the configuration. Default: that folder. */
  cwd: filePath.optional(),
  /** Variables in addition to PATH, HOME and the event's variables. */
  env: z.record(variable, withoutNul).default({}),
  /** Exit codes that make a dead letter. All others but 0 are retried. */
  terminalExitCodes: z
    .array(
      z
        .int()
        .min(1)
        .max(255)
        .refine((code) => code !== 75, { error: '75 means: try again' }),
    )
    .default([]),
})

type Options = z.output<typeof options>

/** Runs a command per event, with the body on its standard input. External data is in environment variables, never in arguments. */
export default {
  options,
  target: ({ command }) => `${String([command].flat()[0])} …`,
  example: "{ kind: 'exec', command: ['./notify.sh', '--quiet'] }",
  create,
  check,
} satisfies SinkKind<typeof options>

function create(
  { options }: SinkSetup<Options>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const { command, terminalExitCodes } = options
  const { cwd, env: baseEnv } = environmentOf(options, baseDir)

  return {
    concurrency: 4,
    retry: { attempts: 50, baseMs: 1_000, capMs: 600_000 },
    breaker: {},
    async send([item], { signal, log }) {
      if (item === undefined) return
      const end = await runCommand({
        command,
        cwd,
        env: { ...baseEnv, ...variablesOf(item) },
        input: bodyOf(item),
        signal,
      })
      log.debug({ ...end }, 'command ended')
      if (end.exitCode === 0) return
      const how = end.exitCode === null ? `was ended by ${end.signal}` : `ended with exit code ${end.exitCode}`
      const message = `the command ${command[0]} ${how}`
      if (end.exitCode !== null && terminalExitCodes.includes(end.exitCode)) throw new TerminalError(message)
      throw new Error(message)
    },
  }
}

/** Throws if the program is missing. */
async function check({ name, options }: SinkSetup<Options>, { baseDir }: Pick<SinkTools, 'baseDir'>): Promise<void> {
  const [program = ''] = options.command
  const { cwd, env } = environmentOf(options, baseDir)
  if (await isProgram(program, cwd, env.PATH)) return
  const where = program.includes('/') ? `at ${resolve(cwd, program)}` : 'on the PATH'
  throw new Error(
    `sinks.${name}.command: no executable program ${JSON.stringify(program)} ${where}; install it, or give its path`,
  )
}

function environmentOf(options: Options, baseDir: string) {
  const { PATH = '', HOME = '' } = process.env
  return { cwd: resolve(baseDir, options.cwd ?? '.'), env: { PATH, HOME, ...options.env } }
}

/** Percent-encoded, because a variable can't hold NUL. */
function variablesOf({ event, idempotencyKey, attempt }: SinkItem): Record<string, string> {
  return {
    INBOX_EVENT_ID: headerText(event.uid),
    INBOX_EVENT_TYPE: headerText(event.type),
    INBOX_IDEMPOTENCY_KEY: headerText(idempotencyKey),
    INBOX_ATTEMPT: String(attempt),
  }
}

/** Looks for an executable file where `spawn` does: at a path, or in the folders of `PATH`. */
async function isProgram(program: string, cwd: string, folders: string): Promise<boolean> {
  const candidates = program.includes('/')
    ? [resolve(cwd, program)]
    : folders.split(delimiter).map((dir) => resolve(cwd, dir, program))
  const checks = await Promise.all(candidates.map(isExecutable))
  return checks.includes(true)
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}

interface Command {
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

const maxOutputBytes = 4 * 1024
/** How long to wait for output after the command ended: a child process may keep the pipe open. */
const lingerMs = 500

/** Runs a command. If a signal ended it, its `exitCode` is null. Throws if it can't be started, or the reason of `signal` after it was killed. */
async function runCommand({ command, cwd, env, input, signal }: Command) {
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
