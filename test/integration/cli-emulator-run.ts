import { tmpdir } from 'node:os'
import type { EmulatorOptions } from '../../src/emulator/emulator.ts'
import { beginCli, runCli, type CliResult } from '../support/cli.ts'
import type { LogLine } from '../support/process-output.ts'
import { createTestReceiver, type Answer } from './emulator-receiver.ts'
import { controlToken, startStage } from './emulator-stage.ts'

export const secret = 'whsec_of-the-cli-test-0001'

export type Steered = Awaited<ReturnType<typeof startSteered>>

/** Starts an emulator with one webhook, for commands. */
export async function startSteered(answer: Answer, options: Partial<EmulatorOptions> = {}) {
  const receiver = await createTestReceiver(answer)
  const stage = await startStage({ endpoints: [{ url: receiver.url, secret }], ...options })
  const args = (line: string) => [...line.split(' '), '--emulator', stage.emulator.url ?? '']
  const env = { EMULATOR_CONTROL_TOKEN: controlToken }
  return {
    stage,
    receiver,
    /** Runs a command line on this emulator. */
    run: (line: string, more: Readonly<Record<string, string>> = {}) =>
      runCli(args(line), { cwd: tmpdir(), env: { ...env, ...more } }),
    start: (line: string) => beginCli(args(line), { cwd: tmpdir(), env }),
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

/** Parses the output of a command with `--json`. */
export function linesOf({ out }: Pick<CliResult, 'out'>): readonly LogLine[] {
  return out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine)
}
