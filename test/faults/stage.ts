import { randomBytes } from 'node:crypto'
import { createRandomStream } from '../../src/emulator/random.ts'
import { checkHistory } from '../support/checks.ts'
import { requeueCrashed } from '../support/dead-letters.ts'
import { RecordingClient } from '../support/history.ts'
import { effectsHandler, readEffects, readLedger, type Effect, type Ledger } from '../support/ledger.ts'
import { Load } from '../support/load.ts'
import { Sidecar, type SidecarOptions } from '../support/sidecar.ts'
import { historyOf } from './power-loss-check.ts'

/** Seed of this run. SEED repeats a run. */
export const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')

export interface StageOptions extends SidecarOptions {
  readonly workers?: number
  readonly keys?: number
}

/** Violations of P1 to P9, and the data that they were derived from. */
export interface Examined {
  readonly findings: readonly string[]
  readonly ledger: Ledger
  readonly effects: readonly Effect[]
  /** Events whose runs were dead letters for some time. */
  readonly requeued: ReadonlySet<string>
}

/** A sidecar whose handler records its effects, and a load. Neither is started. */
export async function createStage({ workers = 16, keys = 200, ...options }: StageOptions = {}) {
  console.log(`SEED=${seed}`)
  const random = createRandomStream(seed, 'load')
  const handlers = { 'effects.mjs': effectsHandler({ busyMs: 2 }), ...options.handlers }
  const sidecar = await Sidecar.create({ ...options, handlers })
  const client = new RecordingClient({ url: () => sidecar.url })
  const load = new Load({ client, workers, keys, random: () => random.uniform() })

  /** Sends until `count` more events are acknowledged, or the process has ended. */
  async function acknowledge(count: number): Promise<void> {
    const acknowledged = load.acknowledgements(count)
    const sending = load.run()
    await Promise.race([acknowledged, sending])
    load.stop()
    await sending
  }

  /** Resends, waits for all runs, stops, and checks P1 to P9. `readTraces`: replaces the handler's traces. */
  async function examine(readTraces?: () => readonly Effect[]): Promise<Examined> {
    await load.heal()
    await sidecar.drained()
    const requeued = await requeueCrashed(sidecar)
    await sidecar.drained()
    const exit = await sidecar.stop()
    const ledger = await readLedger(options.env?.['INBOX_DATABASE_URL']?.replace('sqlite:', '') ?? sidecar.databaseFile)
    const { stored, work, missingSeqs } = ledger
    const effects = readTraces?.() ?? (await readEffects(sidecar.effectsFile))
    const found = checkHistory({ ...historyOf(sidecar, client), stored, effects, requeued })
    const open = work.filter(({ state }) => state !== 'done')
    const findings = [
      ...found.map(({ property, what }) => `${property}: ${what}`),
      ...open.slice(0, 5).map(({ id, handler, state }) => `P9: the run of ${handler} for ${id} ended as ${state}`),
      ...(missingSeqs > 0 ? [`P7: ${missingSeqs} accept-sequence numbers are missing`] : []),
      ...(exit.code === 0 ? [] : [`P7: the last stop ended with ${exit.code ?? exit.signal}`]),
    ]
    return { findings, ledger, effects, requeued }
  }

  return {
    sidecar,
    client,
    load,
    acknowledge,
    examine,
    async [Symbol.asyncDispose]() {
      load.stop()
      client[Symbol.dispose]()
      await sidecar[Symbol.asyncDispose]()
    },
  }
}

/** Calls `work` for all items, several at once. */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>, workers = 16): Promise<void> {
  const left = [...items].toReversed()
  const worker = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await work(next)
  }
  await Promise.all(Array.from({ length: workers }, worker))
}
