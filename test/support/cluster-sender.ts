import { eventTypes } from '../../schema/index.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { createRandomStream } from '../../src/emulator/random.ts'
import { WorldRefusal } from '../../src/emulator/world/port.ts'
import { testSecret } from './app.ts'
import { until } from './until.ts'

export interface SenderOptions {
  readonly url: string
  readonly seed: string
  /** Triggers per second. Each sends one or more events. */
  readonly rate: number
}

/** The emulator as sender: events of all types, with its retries. */
export interface ClusterSender extends AsyncDisposable {
  /** Ids of the sent events. */
  readonly sent: readonly string[]
  /** Ids of the acknowledged events. */
  readonly acknowledged: ReadonlySet<string>
  /** Waits for `count` more acknowledged events. */
  acknowledgements(count: number): Promise<void>
  /** Stops new events. Retries the others until they are acknowledged or have no attempt left. */
  finish(): Promise<void>
}

/** This trigger is nearly always possible. */
const easiest = 'contract.ownership_changed'
/** With more events, the simulated world becomes slow. */
const maxEvents = 10_000
/** Longer than all retries take, in world time. */
const ladderMs = 11 * 3_600_000

/** Sends to `url`, 600 times as fast as real time, and repeats every tenth acknowledged event. */
export async function startSender({ url, seed, rate }: SenderOptions): Promise<ClusterSender> {
  const sent: string[] = []
  const acknowledged = new Set<string>()
  const random = createRandomStream(seed, 'cluster-sender')
  const emulator = createEmulator({
    seed: { world: { seed, history: '0s', activity: 0 }, clock: { mode: 'scaled', speed: 600 } },
    endpoints: [{ url, secret: testSecret }],
    duplicateRate: 0.1,
    onEvent: ({ id }) => void sent.push(id),
    onAttempt({ eventId, outcome }) {
      if (outcome === 'acknowledged') acknowledged.add(eventId)
    },
  })
  await emulator.start()
  const pace = setInterval(() => {
    if (sent.length >= maxEvents) return clearInterval(pace)
    try {
      emulator.trigger(random.pick(eventTypes))
    } catch (error) {
      if (!(error instanceof WorldRefusal)) throw error
      emulator.trigger(easiest)
    }
  }, 1_000 / rate)
  return {
    sent,
    acknowledged,
    async acknowledgements(count) {
      const enough = acknowledged.size + count
      await until(() => acknowledged.size >= enough, `${count} events of the emulator are acknowledged`)
    },
    async finish() {
      clearInterval(pace)
      emulator.clock.set('manual')
      await emulator.advance(ladderMs)
      await emulator.deliveries.settled()
    },
    async [Symbol.asyncDispose]() {
      clearInterval(pace)
      await emulator.stop()
    },
  }
}
