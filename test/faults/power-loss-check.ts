import { testSecret } from '../support/app.ts'
import { checkHistory, type Evidence, type Finding } from '../support/checks.ts'
import type { RecordingClient } from '../support/history.ts'
import { readEffects, readLedger } from '../support/ledger.ts'
import { testToken, type Sidecar } from '../support/sidecar.ts'

/** Violations of P1, P2, P6 and P7 in a file that no process serves. */
export async function lossesOf(
  sidecar: Sidecar,
  client: RecordingClient,
  file: string = sidecar.databaseFile,
): Promise<string[]> {
  const { stored, missingSeqs } = await readLedger(file)
  const findings = checkHistory({ ...historyOf(sidecar, client), stored, effects: [] })
  return [
    ...findings.filter(({ property }) => property !== 'P3').map(({ property, what }) => `${property}: ${what}`),
    ...(missingSeqs > 0 ? [`${missingSeqs} accept-sequence numbers are missing`] : []),
  ]
}

/** Checks the history of a stopped sidecar. `requeued`: see `Evidence`. */
export async function examine(
  sidecar: Sidecar,
  client: RecordingClient,
  requeued: ReadonlySet<string> = new Set(),
): Promise<Finding[]> {
  const { stored } = await readLedger(sidecar.databaseFile)
  const effects = await readEffects(sidecar.effectsFile)
  return checkHistory({ ...historyOf(sidecar, client), stored, effects, requeued })
}

export function historyOf(sidecar: Sidecar, client: RecordingClient): Omit<Evidence, 'stored' | 'effects'> {
  return {
    requests: client.requests,
    lives: sidecar.lives,
    output: sidecar.output.text,
    secrets: [testSecret, testToken],
  }
}
