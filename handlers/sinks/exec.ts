import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { runCommand, type CommandEnd } from './common/command.ts'
import { bodyOf, filePath, headerText, type SinkKind, type SinkSetup, type SinkTools } from './common/kind.ts'

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
      const message = `the command ${command[0]} ${describe(end)}`
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

function describe({ exitCode, signal }: CommandEnd): string {
  return exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`
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
