import { randomBytes } from 'node:crypto'
import { type EventType, eventTypes } from '../../schema/index.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { createStream } from '../base/http/sse.ts'
import { type Logger, silentLogger } from '../base/log.ts'
import { isLoopback } from '../base/loopback.ts'
import type { Accounts } from './accounts/port.ts'
import { toShownAttempt } from './control/deliveries.ts'
import type { StreamKind } from './control/route.ts'
import { createDeliveries } from './deliveries/deliveries.ts'
import type { AttemptReport, Deliveries } from './deliveries/port.ts'
import { createFaults } from './faults/faults.ts'
import { type Begun, createEmulatorState } from './emulator-state.ts'
import type { PlainEvent } from './overrides.ts'
import { toTarget } from './post.ts'
import { setPriceAlerts } from './price-alerts.ts'
import { createRandomStream, drawSecret } from './random.ts'
import { builtInSeed, parseSeed } from './seed/parse-seed.ts'
import type { SeedInput } from './seed/schema.ts'
import { createEventSender } from './event-sender.ts'
import { type EmulatorServer, type ListenOptions, startServing } from './server.ts'
import type { DashboardLogin } from './session/sessions.ts'
import { createTriggering } from './triggering.ts'
import type { WorldClock } from './world-clock.ts'
import type { OnProgress } from './logged-world.ts'
import type { World } from './world/port.ts'

export type { AttemptReport, Begun, Deliveries, PlainEvent, SeedInput }

/** Where events go from the start on: a webhook of the first account. */
export interface StartEndpoint {
  readonly url: string
  readonly secret: string
  /** Type names, or the single `*`. Default: `*`. */
  readonly events?: readonly string[]
}

export interface EmulatorOptions {
  /** The same seed and the same moments give the same events. A name, or all that a seed file can say. */
  readonly seed: string | SeedInput
  /** What drives the clock of the world: timestamps, what happens, the retry ladder. Default: the wall clock. */
  readonly clock?: Clock
  /** The clock the 5 s to answer and the rate limits are measured on. Default: the system's. */
  readonly wall?: Clock
  /** Default: none but those of the seed. */
  readonly endpoints?: readonly StartEndpoint[]
  /** Where it serves REST and control. Default: it does not listen. */
  readonly listen?: ListenOptions
  /** The file in which accounts and world outlive the process. Default: none. */
  readonly dataFile?: string
  /** Events per second of world time that are triggered beside those that arise by themselves. Default 0. */
  readonly rate?: number
  /** After so many events no more are sent. Default: no end. */
  readonly count?: number
  /** Share of acknowledged events that are delivered a second time, 0 to 1 (R88). Default 0. */
  readonly duplicateRate?: number
  readonly log?: Logger
  /** Called with each event as it is sent. */
  readonly onEvent?: (event: PlainEvent) => void
  /** Called after each attempt of a delivery. */
  readonly onAttempt?: (report: AttemptReport) => void
}

export interface Emulator extends AsyncDisposable {
  /**
   * Makes the world, or takes it up from its file, then serves and sends until `stop`. Until it resolves, requests get 503.
   *
   * @throws InboxError `port_unavailable`, `config_invalid` if the world cannot follow its seed, `usage` after `stop`
   */
  start(onProgress?: OnProgress): Promise<Begun>
  /** Stops everything, cancels retries, cuts what is being sent, and saves the world. Idempotent. */
  stop(): Promise<void>
  /** Where it listens; null if it does not. */
  readonly url: string | null
  /** What the control routes ask for. */
  readonly controlToken: string
  /** Who may sign in to the dashboard (A65). */
  readonly login: DashboardLogin
  readonly world: World
  readonly clock: WorldClock
  readonly accounts: Accounts
  readonly deliveries: Deliveries
  /**
   * Moves a manual clock on by `ms`: whatever is due happens, and is delivered, in order. Throws `bad_request` in another mode, and
   * if clock or world are put elsewhere before it is done.
   */
  advance(ms: number): Promise<void>
  /**
   * Makes an event of a type arise, by the shortest story that leads to it, within five seconds of world time; gives who it is
   * about. For `token.price_alert` an alert is set first, if there is none. Throws `WorldRefusal`.
   */
  trigger(type: EventType): Readonly<Record<string, unknown>>
  /** The same for each of the ten types, in the order of the spec. */
  tour(): void
  /** Resolves when `count` events are sent and everything sent is acknowledged or undelivered. */
  finished(): Promise<void>
}

/** How often the event loop gets its turn while a clock is advanced. */
const timersPerTurn = 256

/**
 * The service in whole: a simulated world, the REST service that tells of it, and the deliveries of the events that arise in
 * it, signed, with the retry ladder (R71–R92).
 *
 * @throws InboxError `config_invalid` if the seed is none, `usage` if an endpoint is none; or what is wrong with the data file
 *
 * @example
 * await using emulator = createEmulator({ seed: 'demo', endpoints: [{ url, secret }] })
 * await emulator.start()
 * emulator.trigger('wallet.large_trade')
 */
export function createEmulator(options: EmulatorOptions): Emulator {
  const { wall = systemClock, clock: base = wall, endpoints = [], rate = 0, count = Infinity } = options
  const { duplicateRate = 0, log = silentLogger, onAttempt = () => {}, onEvent = () => {} } = options
  const seed = typeof options.seed === 'string' ? builtInSeed(options.seed) : parseSeed(options.seed)
  for (const { url } of endpoints) toTarget(url)
  const controlToken = seed.controlToken ?? drawSecret('ctl', randomBytes)
  const login = seed.dashboard ?? { user: 'admin', password: drawSecret('pw', randomBytes) }
  const stream = createStream<StreamKind>({ wall })
  // Whoever can reach it from outside must not reach through it what stands beside it.
  const isOpen = options.listen !== undefined && !isLoopback(options.listen.host)
  const trusted = new Set([
    ...endpoints.map(({ url }) => url),
    ...seed.accounts.flatMap(({ webhooks, alerts }) => [
      ...webhooks.map(({ url }) => url),
      ...alerts.map(({ webhookUrl }) => webhookUrl),
    ]),
  ])
  let fired = 0
  let server: EmulatorServer | undefined
  let isReady = false
  let stopping: Promise<void> | undefined

  const state = createEmulatorState({
    seed,
    base,
    wall,
    randomBytes,
    log,
    settle() {
      if (deliveries.counts().inFlight > 0) return deliveries.idle()
      return ++fired % timersPerTurn === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined
    },
    onEndpointGone: () => deliveries.endpointsChanged(),
    prepare(isNew) {
      for (const endpoint of endpoints) addEndpoint(endpoint)
      if (isNew) addPriceAlerts()
    },
    onRestore() {
      // What was to be tried again belongs to another course of time.
      deliveries.clear()
      sender.restart()
      triggering.begin()
    },
    ...(options.dataFile !== undefined && { dataFile: options.dataFile }),
  })
  const { world, clock, accounts } = state
  const faults = createFaults({ seed: seed.world.seed })
  if (duplicateRate > 0) faults.add({ direction: 'out', fault: { kind: 'duplicate', copies: 1 }, rate: duplicateRate })
  for (const rule of seed.faults) faults.add(rule)
  const deliveries = createDeliveries({
    clock,
    wall,
    store: state.deliveryStore,
    faults,
    parallel: seed.deliveries.parallel,
    find: (endpointId) => accounts.endpoint(endpointId),
    isPublicOnly: (url) => isOpen && !trusted.has(url),
    log,
    onAttempt(report) {
      stream.publish('attempt', toShownAttempt(report))
      onAttempt(report)
    },
  })
  const sender = createEventSender({
    world,
    accounts,
    deliveries,
    profile: seed.deliveries.serializer,
    isOneShot: seed.alerts.oneShot,
    count,
    onEvent,
    log,
  })
  const triggering = createTriggering({
    world,
    copyWorld: () => state.copyWorld(),
    sendRaw: (event) => sender.sendRaw(event),
    accounts,
    clock,
    seed: seed.world.seed,
    randomBytes,
    rate,
    isComplete: () => sender.isComplete(),
    log,
  })

  function addEndpoint({ url, secret, events = ['*'] }: StartEndpoint): void {
    const { accountId } = accounts.accounts()[0] ?? accounts.putAccount('default', 'pro')
    // Alerts of the account go to the same receiver, which knows this secret.
    accounts.setAlertSecret(accountId, secret)
    const known = accounts.webhooks(accountId).find((webhook) => webhook.url === url)
    if (known === undefined) accounts.addWebhook(accountId, { url, events, secret })
    else accounts.updateWebhook(accountId, known.webhookId, { events, secret })
  }

  function addPriceAlerts(): void {
    const alerting = { accounts, world, stream: createRandomStream(seed.world.seed, 'price-alerts') }
    const counts = new Map(seed.accounts.map(({ name, priceAlerts }) => [name, priceAlerts]))
    for (const account of accounts.accounts()) setPriceAlerts(alerting, account, counts.get(account.name) ?? 0)
  }

  const parts = {
    seed,
    state,
    deliveries,
    faults,
    stream,
    triggering,
    randomBytes,
    wall,
    controlToken,
    login,
    log,
    isReady: () => isReady,
  }

  async function stop(): Promise<void> {
    triggering.stop()
    sender.end()
    await server?.close()
    try {
      deliveries.close()
    } finally {
      state.close()
    }
  }

  return {
    async start(onProgress) {
      if (stopping !== undefined) throw new InboxError('usage', 'the emulator was stopped: create another')
      // First, so that a port that is taken is noticed before the history is made.
      if (options.listen !== undefined) server = await startServing(options.listen, parts)
      const begun = await state.begin(onProgress).catch(async (error: unknown) => {
        await (stopping ??= stop())
        throw error
      })
      isReady = true
      sender.resume(begun)
      deliveries.start()
      world.onEvent((arisen) => sender.send(arisen))
      state.run()
      triggering.begin()
      return begun
    },
    stop: () => (stopping ??= stop()),
    get url() {
      return server?.url ?? null
    },
    controlToken,
    login,
    world,
    clock,
    accounts,
    deliveries,
    advance: (ms) => state.advance(ms),
    trigger: (type) => triggering.trigger(type),
    tour: () => eventTypes.forEach((type) => triggering.trigger(type)),
    async finished() {
      await sender.completed
      await deliveries.settled()
    },
    [Symbol.asyncDispose]: () => (stopping ??= stop()),
  }
}
