import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { bodyOf, headerText, filePath, type SinkKind, type SinkSetup, type SinkTools } from './common/kind.ts'
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

const withoutNul = z.string().refine((value) => !value.includes('\0'), { error: 'expected text without NUL' })
const variable = z.string().regex(/^[A-Za-z_]\w*$/, { error: 'expected the name of an environment variable' })

/** A command is run for each event, which it gets on its standard input. */
const options = z.strictObject({
  /** Program and arguments. No shell reads them. */
  command: z.array(withoutNul).min(1),
  /** Relative ones start at the folder of the configuration, which is also the default. */
  cwd: filePath.optional(),
  /** What the command finds in its environment beside PATH, HOME and what tells of the event. */
  env: z.record(variable, withoutNul).default({}),
  /** Of these exit codes: no further attempts, dead letter. All others but 0 mean that it is tried again. */
  terminalExitCodes: z
    .array(
      z
        .int()
        .min(1)
        .max(255)
        .refine((code) => code !== 75, { error: '75 means that trying again can help' }),
    )
    .default([]),
})

type Options = z.output<typeof options>

export default {
  options,
  target: ({ command }) => `${String([command].flat()[0])} …`,
  examples: {
    command: ['a list: the program and its arguments', "['./notify.sh', '--quiet']"],
    cwd: ['the path of a folder', "'./scripts'"],
    env: ['an object of texts by name', "{ LEVEL: 'high' }"],
    terminalExitCodes: ['a list of exit codes', '[2]'],
  },
  create,
  check,
} satisfies SinkKind<typeof options>

/**
 * Runs a command for each event: the bytes as they came on its standard input, or as JSON what a handler enqueued. What comes from
 * outside is never an argument; the environment tells id, type and idempotency key. Exit code 0 means done, one of
 * `terminalExitCodes` dead letter, anything else that it is tried again.
 */
function create(
  { name, options }: SinkSetup<Options>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const { command, terminalExitCodes } = options
  const { cwd, env: kept } = surroundings(options, baseDir)

  return {
    name,
    concurrency: 4,
    retry: { attempts: 50, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send([item], { signal, log }) {
      if (item === undefined) return
      const end = await runCommand({ command, cwd, env: { ...kept, ...about(item) }, input: bodyOf(item), signal })
      log.debug({ ...end }, 'command ended')
      if (end.exitCode === 0) return
      const message = `the command ${command[0]} ${describe(end)}`
      if (end.exitCode !== null && terminalExitCodes.includes(end.exitCode)) throw new TerminalError(message)
      throw new Error(message)
    },
  }
}

/** Whether the program is there. */
async function check({ name, options }: SinkSetup<Options>, { baseDir }: Pick<SinkTools, 'baseDir'>): Promise<void> {
  const [program = ''] = options.command
  const { cwd, env } = surroundings(options, baseDir)
  if (await isProgram({ program, cwd, path: env.PATH })) return
  const place = program.includes('/') ? `at ${resolve(cwd, program)}` : 'on the PATH'
  throw new Error(
    `sinks.${name}.command: there is no program ${JSON.stringify(program)} ${place} that this user may run; install it, or give its path`,
  )
}

function surroundings(options: Options, baseDir: string) {
  const { PATH = '', HOME = '' } = process.env
  return { cwd: resolve(baseDir, options.cwd ?? '.'), env: { PATH, HOME, ...options.env } }
}

/** Visible ASCII, all else percent-encoded: an id can be any text, and a variable can hold no NUL. */
function about({ event, idempotencyKey, attempt }: SinkItem): Record<string, string> {
  return {
    INBOX_EVENT_ID: headerText(event.id),
    INBOX_EVENT_TYPE: headerText(event.type),
    INBOX_IDEMPOTENCY_KEY: headerText(idempotencyKey),
    INBOX_ATTEMPT: String(attempt),
  }
}

function describe({ exitCode, signal }: CommandEnd): string {
  return exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`
}

interface ProgramPlace {
  /** As the first word of a command: with a slash a path, otherwise a name to be looked up. */
  readonly program: string
  /** Absolute: what relative paths start at. */
  readonly cwd: string
  /** Folders with colons between. */
  readonly path: string
}

/** Whether there is a file that this user may run, where `spawn` looks for it. */
async function isProgram({ program, cwd, path }: ProgramPlace): Promise<boolean> {
  const places = program.includes('/')
    ? [resolve(cwd, program)]
    : path.split(delimiter).map((dir) => resolve(cwd, dir, program))
  const found = await Promise.all(places.map(isExecutable))
  return found.includes(true)
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}

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
