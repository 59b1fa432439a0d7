import { eventTypes } from '../../schema/index.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { createRandomStream } from '../../src/emulator/random.ts'
import { WorldRefusal } from '../../src/emulator/world/port.ts'
import { testSecret } from './app.ts'
import { until } from './until.ts'

export interface SenderOptions {
  readonly url: string
  readonly seed: string
  /** How often in a second something is made to happen, of which one event comes, or some. */
  readonly rate: number
}

/** The emulator as the sender of a test: events of all types, with retries by its ladder. */
export interface ClusterSender extends AsyncDisposable {
  /** Ids of the events that it sent. */
  readonly sent: readonly string[]
  /** Ids of those that were acknowledged. */
  readonly acknowledged: ReadonlySet<string>
  /** Waits until so many more events were acknowledged. */
  acknowledgements(count: number): Promise<void>
  /** Sends no new events, and those that are not acknowledged again, until each is or its ladder has come to its end. */
  finish(): Promise<void>
}

/** The type that is nearly always possible. */
const easiest = 'contract.ownership_changed'
/** Of more events than these the simulated world becomes large, and slow. */
const mostEvents = 10_000
/** Some more than the ladder takes, in world time. */
const ladderMs = 11 * 3_600_000

/** Begins to send to `url`. A minute of the ladder takes a tenth of a second, and every tenth acknowledged event comes once more. */
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
    if (sent.length >= mostEvents) return clearInterval(pace)
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
