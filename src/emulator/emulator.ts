import { randomBytes } from 'node:crypto'
import { type EventType, eventTypes } from '../../schema/index.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { createStream } from '../base/http/sse.ts'
import { type Logger, silentLogger } from '../base/log.ts'
import { isLoopback } from '../base/loopback.ts'
import type { Accounts } from './accounts/accounts.ts'
import { toShownAttempt } from './control/deliveries.ts'
import type { StreamKind } from './control/route.ts'
import { createDeliveries } from './deliveries/deliveries.ts'
import type { AttemptReport, Deliveries } from './deliveries/delivery.ts'
import { toTarget } from './deliveries/post.ts'
import { createFaults } from './faults/faults.ts'
import { type Begun, createEmulatorState } from './emulator-state.ts'
import type { PlainEvent } from './overrides.ts'
import { setPriceAlerts } from './price-alerts.ts'
import { createRandomStream, drawSecret } from './random.ts'
import { builtInSeed, parseSeed } from './seed/parse-seed.ts'
import type { SeedInput } from './seed/schema.ts'
import { createEventSender } from './event-sender.ts'
import { type EmulatorServer, type ListenOptions, startServing } from './server.ts'
import type { DashboardLogin } from './control/sessions.ts'
import { createTriggering } from './triggering.ts'
import type { WorldClock } from './world-clock.ts'
import type { OnProgress } from './paced-world.ts'
import type { World } from './world/world.ts'

export type { AttemptReport, Begun, Deliveries, PlainEvent, SeedInput }

/** A webhook of the first account, registered at the start. */
export interface StartEndpoint {
  readonly url: string
  readonly secret: string
  /** Type names, or the single `*`. Default: `*`. */
  readonly events?: readonly string[]
}

export interface EmulatorOptions {
  /** A seed name, or everything a seed file can set. The same seed and the same moments give the same events. */
  readonly seed: string | SeedInput
  /** Drives the world clock: timestamps, world tasks, retries. Default: the wall clock. */
  readonly clock?: Clock
  /** Measures the 5 s acknowledgement timeout and the rate limits. Default: the system clock. */
  readonly wall?: Clock
  /** Webhooks in addition to those in the seed. Default: none. */
  readonly endpoints?: readonly StartEndpoint[]
  /** Address for REST, the control API and the dashboard. Default: the emulator does not listen. */
  readonly listen?: ListenOptions
  /** File that keeps accounts, world and deliveries across restarts. Default: none. */
  readonly dataFile?: string
  /** Extra events per second of world time, in addition to those arising in the world. Default 0. */
  readonly rate?: number
  /** Number of events to send. Default: no limit. */
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
   * Creates the world or loads it from its file, then serves and sends until `stop`. Requests wait until it
   * resolves. If it fails, the emulator is stopped.
   *
   * @throws InboxError `port_unavailable`, `config_invalid` if the world can't follow its seed or an account exceeds a limit, `usage` after `stop`
   */
  start(onProgress?: OnProgress): Promise<Begun>
  /** Stops serving, cancels retries, aborts requests in flight and saves the world. Idempotent. */
  stop(): Promise<void>
  /** Base URL; null if the emulator does not listen. */
  readonly url: string | null
  /** Token for the control API. */
  readonly controlToken: string
  /** Login of the dashboard (A65). */
  readonly login: DashboardLogin
  readonly world: World
  readonly clock: WorldClock
  readonly accounts: Accounts
  readonly deliveries: Deliveries
  /**
   * Advances a manual clock by `ms` and waits for the tasks and deliveries that become due, in order.
   *
   * @throws InboxError `bad_request` in another clock mode, or if the clock is set or the world restored during the
   * call
   */
  advance(ms: number): Promise<void>
  /**
   * Runs the shortest story that leads to an event of this type. The event arises within five seconds of world time.
   * Returns the addresses it is about. For `token.price_alert`, creates an alert first if there is none.
   *
   * @throws WorldRefusal if the world has no such story now
   */
  trigger(type: EventType): Readonly<Record<string, unknown>>
  /** Triggers each of the ten types, in the order of the spec. */
  tour(): void
  /** Resolves when `count` events are sent and each delivery is acknowledged or undelivered. */
  finished(): Promise<void>
}

/** Fired timers per turn of the event loop while a clock is advanced. */
const timersPerTurn = 256

/**
 * The emulated service: a simulated world, the REST API over it, and signed webhook deliveries of its events with retries (R71–R92).
 *
 * @throws InboxError `config_invalid` for an invalid seed, `usage` for an invalid endpoint; or an error of the data
 * file
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
  // An emulator that outside clients can reach must not post to private addresses on their behalf (SSRF).
  const isPublic = options.listen !== undefined && !isLoopback(options.listen.host)
  const trusted = new Set([
    ...endpoints.map(({ url }) => url),
    ...seed.accounts.flatMap(({ webhooks, alerts }) => [
      ...webhooks.map(({ url }) => url),
      ...alerts.map(({ webhookUrl }) => webhookUrl),
    ]),
  ])
  let firedTimers = 0
  let server: EmulatorServer | undefined
  const ready = Promise.withResolvers<void>()
  let stopping: Promise<void> | undefined

  const state = createEmulatorState({
    seed,
    base,
    wall,
    randomBytes,
    log,
    settle() {
      if (deliveries.counts().inFlight > 0) return deliveries.idle()
      return ++firedTimers % timersPerTurn === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined
    },
    onEndpointDeleted: () => deliveries.endpointsChanged(),
    prepare(isNew) {
      for (const endpoint of endpoints) addEndpoint(endpoint)
      if (isNew) addPriceAlerts()
    },
    onRestore() {
      // Pending retries belong to the world before the restore.
      deliveries.clear()
      triggering.begin()
    },
    dataFile: options.dataFile,
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
    isPublicOnly: (url) => isPublic && !trusted.has(url),
    log,
    onAttempt(report) {
      stream.publish('attempt', toShownAttempt(report))
      onAttempt(report)
    },
  })
  const sender = createEventSender({
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
    // The receiver of the account's alerts knows this secret too.
    accounts.setAlertSecret(accountId, secret)
    const own = accounts.webhooks(accountId)
    // An endpoint with a new URL replaces an unused one of an earlier start, so that restarts don't add webhooks.
    const existing =
      own.find((webhook) => webhook.url === url) ??
      own.find((webhook) => webhook.isFromStart && endpoints.every((endpoint) => endpoint.url !== webhook.url))
    if (existing === undefined) accounts.addWebhook(accountId, { url, events, secret, isFromStart: true })
    else {
      accounts.updateWebhook(existing, { url, events, secret })
      accounts.moveAlerts(accountId, existing.url, url)
    }
  }

  function addPriceAlerts(): void {
    const alerting = { accounts, world, stream: createRandomStream(seed.world.seed, 'price-alerts') }
    const counts = new Map(seed.accounts.map(({ name, priceAlerts }) => [name, priceAlerts]))
    for (const account of accounts.accounts()) setPriceAlerts(alerting, account, counts.get(account.name) ?? 0)
  }

  const serving = {
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
    ready: ready.promise,
  }

  async function stop(): Promise<void> {
    triggering.stop()
    sender.end()
    await server?.close()
    try {
      // Events that are due now arise here. Their deliveries are pending in the data file.
      state.close()
    } finally {
      deliveries.close()
    }
  }

  async function start(onProgress?: OnProgress): Promise<Begun> {
    expectNotStopped()
    // Listen first: a taken port fails before the history is generated.
    if (options.listen !== undefined) server = await startServing(options.listen, serving)
    expectNotStopped()
    const begun = await state.begin(onProgress)
    expectNotStopped()
    deliveries.start()
    world.onEvent((event) => sender.send(event))
    state.run()
    triggering.begin()
    ready.resolve()
    return begun
  }

  function expectNotStopped(): void {
    if (stopping !== undefined) throw new InboxError('usage', 'the emulator is stopped: create another')
  }

  return {
    start: (onProgress) =>
      start(onProgress).catch(async (error: unknown) => {
        await (stopping ??= stop())
        // `stop` may have been called before the server was there.
        await server?.close()
        throw error
      }),
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
    // Who has called `stop` has its error.
    [Symbol.asyncDispose]: () => (stopping === undefined ? (stopping = stop()) : stopping.catch(() => {})),
  }
}
