import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { Verdict } from '../../src/conformance/port.ts'
import { testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { cliFile } from '../support/cli.ts'
import { Sidecar, type SidecarOptions } from '../support/sidecar.ts'

export interface ConformanceResult {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

/** Disposing of it kills the process, if that still runs. */
export interface ConformanceRun extends Disposable {
  readonly child: ChildProcess
  /** The first line that it prints. */
  line(): Promise<string>
  readonly ended: Promise<ConformanceResult>
}

/** `onchain-inbox conformance` in a process of its own, with the secret of the tests in SECRET. */
export function startConformance(args: readonly string[]): ConformanceRun {
  const child = spawn(process.execPath, [cliFile, 'conformance', '--secret', 'env:SECRET', ...args], {
    env: { PATH: process.env['PATH'], SECRET: testSecret, NEXT: nextSecret },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, errors] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const ended = new Promise<ConformanceResult>((resolve) => {
    child.on('close', (code) => resolve({ code, out, errors }))
  })
  return {
    child,
    ended,
    async line() {
      while (!out.includes('\n')) await Promise.race([once(child.stdout, 'data'), ended])
      return out.slice(0, out.indexOf('\n'))
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

export function conformance(...args: readonly string[]): Promise<ConformanceResult> {
  return startConformance(args).ended
}

/** The other secret of receivers that take two. */
export const nextSecret = 'the-secret-that-comes-next'

export interface VerdictLine extends Verdict {
  readonly msg: 'verdict'
}

export interface SummaryLine {
  readonly msg: 'finished'
  readonly outcome: string
  readonly reason: string | null
  readonly url: string
  readonly passed: number
  readonly failed: number
  readonly notChecked: number
}

/** The lines of `--json`, the summary apart. */
export function parseLines(out: string): { readonly verdicts: readonly VerdictLine[]; readonly summary: SummaryLine } {
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as VerdictLine | SummaryLine)
  const summary = lines.at(-1)
  if (summary?.msg !== 'finished') throw new Error(`the last line is no summary:\n${out}`)
  return { verdicts: lines.slice(0, -1) as VerdictLine[], summary }
}

/** `R90 once` … of the verdicts of one kind. */
export function rulesOf(verdicts: readonly Verdict[], verdict: Verdict['verdict']): readonly string[] {
  return verdicts.filter((one) => one.verdict === verdict).map(({ rule, scenario }) => `${rule} ${scenario}`)
}

/** A receiver in a process of its own, that a command can restart, and that tells what it did. */
export interface Restartable extends AsyncDisposable {
  readonly sidecar: Sidecar
  /** Options of the command that let it check everything. */
  readonly effects: readonly string[]
  readonly restart: readonly string[]
}

/** Starts one that leaves lines such as `evt_1 1 4711 end` in EFFECTS. Restarting kills it, and starts it on the same port. */
export async function startRestartable(options: SidecarOptions): Promise<Restartable> {
  await using stack = new AsyncDisposableStack()
  const sidecar = stack.use(await Sidecar.start(options))
  const { port } = new URL(sidecar.url)
  // It is read before the first effect.
  await writeFile(sidecar.effectsFile, '', { flag: 'a' })
  const control = stack.use(await AppServer.start())
  control.answer = async () => {
    await sidecar.kill()
    await sidecar.start({ INBOX_PORT: port })
    return { status: 200 }
  }
  const call = `fetch('${control.url}').then((answer) => process.exit(answer.ok ? 0 : 1))`
  const owned = stack.move()
  return {
    sidecar,
    effects: ['--effects', `awk '$4 == "end" { print $1 }' '${sidecar.effectsFile}'`],
    restart: ['--restart', `'${process.execPath}' -e "${call}"`],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
