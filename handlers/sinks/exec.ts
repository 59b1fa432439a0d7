import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { runCommand, type CommandEnd } from './common/command.ts'
import { bodyOf, filePath, headerText, type SinkKind, type SinkSetup, type SinkTools } from './common/kind.ts'

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
  { options }: SinkSetup<Options>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const { command, terminalExitCodes } = options
  const { cwd, env: kept } = surroundings(options, baseDir)

  return {
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
