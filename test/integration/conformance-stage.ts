import { writeFile } from 'node:fs/promises'
import { runConformance, type ConformanceOptions, type Report } from '../../src/cli/conformance/run.ts'
import { testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { Sidecar, type SidecarOptions } from '../support/sidecar.ts'

/** The second secret of receivers that accept two. */
export const nextSecret = 'the-secret-that-comes-next'

/** Tests the receiver at `url`; `only` names scenarios, separated by commas. */
export function conformance(
  url: string,
  only: string | null,
  options: Partial<ConformanceOptions> = {},
): Promise<Report> {
  return runConformance({
    secret: testSecret,
    ...(only !== null && { only: only.split(',') }),
    ...options,
    url: new URL(url),
  })
}

export function verdictsOf({ verdicts }: Report, verdict: Report['verdicts'][number]['verdict']) {
  return verdicts.filter((one) => one.verdict === verdict)
}

/** The scenario of each failed rule. */
export function failedScenarios(report: Report): readonly string[] {
  return verdictsOf(report, 'failed').map(({ scenario }) => scenario)
}

/** A receiver in its own process, with commands that read its effects and restart it. */
export interface Restartable extends AsyncDisposable {
  readonly sidecar: Sidecar
  readonly effects: string
  readonly restart: string
}

/** Starts a receiver that writes lines such as `evt_1 1 4711 end` to EFFECTS. A restart kills it and reuses its port. */
export async function startRestartable(options: SidecarOptions): Promise<Restartable> {
  await using stack = new AsyncDisposableStack()
  const sidecar = stack.use(await Sidecar.start(options))
  const { port } = new URL(sidecar.url)
  // The file is read before the first effect.
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
    effects: `awk '$4 == "end" { print $1 }' '${sidecar.effectsFile}'`,
    restart: `'${process.execPath}' -e "${call}"`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
