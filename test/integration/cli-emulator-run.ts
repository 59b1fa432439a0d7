import { tmpdir } from 'node:os'
import type { EmulatorOptions } from '../../src/emulator/emulator.ts'
import { beginCli, runCli, type CliResult, type CliRun } from '../support/cli.ts'
import { createTestReceiver, type Answer, type TestReceiver } from './emulator-receiver.ts'
import { controlToken, startStage, type Stage } from './emulator-stage.ts'

export const secret = 'whsec_of-the-cli-test-0001'

export interface Steered extends AsyncDisposable {
  readonly stage: Stage
  readonly receiver: TestReceiver
  /** Runs a command line on this emulator. */
  run(line: string, env?: Readonly<Record<string, string>>): Promise<CliResult>
  start(line: string): CliRun
}

/** Starts an emulator with one webhook, for commands. */
export async function startSteered(answer: Answer, options: Partial<EmulatorOptions> = {}): Promise<Steered> {
  const receiver = await createTestReceiver(answer)
  const stage = await startStage({ endpoints: [{ url: receiver.url, secret }], ...options })
  const args = (line: string) => [...line.split(' '), '--emulator', stage.emulator.url ?? '']
  const env = { EMULATOR_CONTROL_TOKEN: controlToken }
  return {
    stage,
    receiver,
    run: (line, more = {}) => runCli(args(line), { cwd: tmpdir(), env: { ...env, ...more } }),
    start: (line) => beginCli(args(line), { cwd: tmpdir(), env }),
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

export interface Line {
  readonly msg: string
  readonly [name: string]: unknown
}

/** Parses the output of a command with `--json`. */
export function linesOf({ out }: Pick<CliResult, 'out'>): readonly Line[] {
  return out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}
