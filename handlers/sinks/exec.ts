import { defineSink, TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { resolve } from 'node:path'
import type { ExecOptions } from '../../src/config/sinks/exec.ts'
import type { SinkSetup, SinkTools } from '../../src/dispatch/bundled-sinks.ts'
import { bodyOf, headerText } from './common/body.ts'
import { runCommand, type CommandEnd } from './common/command.ts'
import { isProgram } from './common/find-program.ts'

/**
 * Runs a command for each event: the bytes as they came on its standard input, or as JSON what a handler enqueued. What comes from
 * outside is never an argument; the environment tells id, type and idempotency key. Exit code 0 means done, one of
 * `terminalExitCodes` dead letter, anything else that it is tried again.
 */
export default function createExec(
  { name, options }: SinkSetup<ExecOptions>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const { command, terminalExitCodes } = options
  const { cwd, env: kept } = surroundings(options, baseDir)

  return defineSink({
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
  })
}

/** Whether the program is there. */
export async function check(
  { name, options }: SinkSetup<ExecOptions>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Promise<void> {
  const [program = ''] = options.command
  const { cwd, env } = surroundings(options, baseDir)
  if (await isProgram({ program, cwd, path: env.PATH })) return
  const place = program.includes('/') ? `at ${resolve(cwd, program)}` : 'on the PATH'
  throw new Error(
    `sinks.${name}.command: there is no program ${JSON.stringify(program)} ${place} that this user may run; install it, or give its path`,
  )
}

function surroundings(options: ExecOptions, baseDir: string) {
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
