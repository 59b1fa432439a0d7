import type { RequestListener } from 'node:http'
import type { Readable } from 'node:stream'
import { createMetrics } from '../admin/metrics.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config/config.ts'
import { inlineSecrets } from '../config/credentials.ts'
import { findHandlerWarnings } from '../config/sinks/config-warnings.ts'
import { followCluster } from '../dispatch/follow-cluster.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { findHandlerFiles } from '../dispatch/registry.ts'
import { startRunner } from '../dispatch/runner.ts'
import { createPaces } from '../dispatch/pace.ts'
import { locationsOf } from '../dispatch/handler-locations.ts'
import { createDiskGuard, nearlyFull } from '../health/disk-guard.ts'
import { createDriftCounter } from '../health/drift.ts'
import { createMeters } from '../health/senders.ts'
import { createReconciler, type ReconcilerOptions } from '../health/reconcile.ts'
import { createHealthWatch } from '../health/watch.ts'
import { startHttpServer, type HttpServer, type HttpServerOptions } from '../base/http/server.ts'
import { defaultSource, type Inbox } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { startRetention } from '../health/retention.ts'
import { openInbox, reportWaiting, startServing } from '../inbox/open.ts'
import { readAsEvent } from '../receiver/readers.ts'
import { createRejectLog, createRejects } from '../receiver/rejects.ts'
import { createReceiverApp } from '../receiver/server.ts'
import { withoutSecrets } from '../receiver/stored-headers.ts'
import { createWebhookSecrets } from '../config/secrets.ts'
import { createTracer } from '../base/tracing.ts'
import { createConsolePages, createAdminApp, type AdminAppOptions } from '../admin/server.ts'
import { resolveAdminToken } from '../admin/token-file.ts'
import { isLoopback } from '../base/loopback.ts'
import { createClient } from '../client/index.ts'
import { createReceiving, observeAll, type ReceiverObserver } from '../receiver/receive.ts'
import { runSources } from './sources.ts'
import { createTrySink } from './try-sink.ts'

export interface AppOptions {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  /** True: handler threads log text instead of JSON. */
  readonly prettyLog: boolean
  /** True: reload handlers when their files change. */
  readonly watch?: boolean
  /** True if the sender runs in this process: then downtime causes no missed deliveries. */
  readonly hasSender?: boolean
  /** URLs of modules of this program, each with one more handler. */
  readonly bundledHandlers?: readonly string[]
  /** Called after each reload with the new handlers and the changed files. */
  readonly onReloaded?: (handlers: readonly HandlerInfo[], changed: readonly string[]) => void
  /** Takes output and log lines of handler threads. Default: standard output of this process. */
  readonly onOutput?: (output: Readable) => void
  /** Called once when only a new process helps: the store failed, or too many handler threads are stuck. */
  readonly onFailure: (error: Error) => void
}

export interface App {
  /** Webhook URL. */
  readonly url: string
  readonly adminUrl: string
  readonly adminToken: string
  readonly handlers: readonly HandlerInfo[]
  readonly inbox: Inbox
  /** The handlers that have runs in flight. */
  readonly inFlight: readonly string[]
  /** Reloads the secrets file. */
  reloadSecrets(): Promise<void>
  /** Stops in order: not ready, no new connections, commits finished, runs finished or released, files closed. Idempotent. */
  stop(): Promise<void>
}

/** Shares of INBOX_SHUTDOWN_MS for requests and runs in flight. */
const requestShare = 0.25
const runShare = 0.5

/** Creates and starts all parts in order. On an error, closes everything. */
export async function startApp(options: AppOptions): Promise<App> {
  await using opened = new AsyncDisposableStack()
  const app = await start(options, opened)
  const running = opened.move()
  let stopping: Promise<void> | undefined
  return Object.assign(app, { stop: () => (stopping ??= running.disposeAsync()) })
}

/** Defers to `opened` the closing of each part. */
async function start(options: AppOptions, opened: AsyncDisposableStack): Promise<Omit<App, 'stop'>> {
  const { config, log, clock } = options
  const storeHealth = () => (disk.isLow() ? nearlyFull : inbox.health())
  let isListening = false
  // The admin port answers before the webhook port.
  const starting = { ok: false, reason: 'the webhook port does not listen yet' } as const
  const state = { stopping: false, health: () => (isListening ? storeHealth() : starting) }

  // First, so that a mistyped folder doesn't create a database.
  if (config.handlersDir !== null) await findHandlerFiles(config.handlersDir)
  const adminServer = await listenEarly(opened, {
    host: config.admin.host,
    port: config.admin.port,
    portSetting: 'INBOX_ADMIN_PORT',
    maxConnections: maxAdminConnections,
    socketTimeoutMs: adminTimeoutMs,
    keepAliveMs: config.keepAliveMs,
  })
  const listenForDeliveries = () =>
    listenEarly(opened, {
      host: config.host,
      port: config.port,
      portSetting: 'INBOX_PORT',
      maxConnections: config.maxConnections,
      keepAliveMs: config.keepAliveMs,
      ...(config.tls && { tls: config.tls }),
    })
  // A single instance answers probes on this port early. In a cluster the port opens last, so that a balancer skips it.
  const earlyReceiver = config.database.kind === 'postgres' ? undefined : await listenForDeliveries()
  const { inbox, openDispatchChannel, cluster } = await openInbox({
    database: config.database,
    migrate: config.migrate,
    orphanHours: config.orphanHours,
    clock,
    log,
  })
  opened.defer(() => inbox.close())
  // After a failure a stop doesn't wait: results can't be stored, or handlers are stuck.
  let hasFailed = false
  const graceMs = (share: number) => (hasFailed ? 0 : config.shutdownMs * share)
  const fail = (error: Error) => {
    if (hasFailed) return
    hasFailed = true
    options.onFailure(error)
  }
  inbox.onFailure(fail)

  const isLeader = () => cluster?.isLeader() ?? true
  const { database, diskReserveBytes: reserveBytes } = config
  const disk = await createDiskGuard({ database, reserveBytes, clock, log })
  opened.defer(() => disk.close())
  const retention = startRetention({
    inbox,
    days: config.retention.days,
    maxBytes: config.retention.maxBytes,
    isLeader,
    clock,
    log,
  })
  opened.defer(() => retention.close())
  const { all: meter, senders } = createMeters({
    clock,
    unusableStatus: config.unusableStatus,
    hasDefaultSource: config.webhookSecrets !== null,
    sources: config.sources.map(({ settings }) => settings),
  })
  const drift = createDriftCounter(clock)
  const secretLabels = () => [...secrets.current().map(({ label }) => label), ...sources.labels()]
  const metrics = createMetrics({
    inbox,
    clock,
    handlers: () => runner.handlers,
    openBreakers: () => runner.openBreakers,
    health: { watch: () => watch, senders, inbox, drift, secretLabels },
  })
  const paces = createPaces(clock)
  const secrets = createWebhookSecrets(config.webhookSecrets ?? inlineSecrets([]), log)
  opened.defer(() => secrets.close())
  const sources = runSources(config.sources, { inbox, clock, log })
  opened.defer(() => sources.close())
  const reportHandlers = (handlers: readonly HandlerInfo[]) => {
    for (const warning of findHandlerWarnings(handlers, config.webhookSecrets !== null))
      log.warn({ warning }, 'config warning')
    // Not awaited: it counts the backlog.
    reportWaiting(inbox, handlers, log).catch(() => {})
  }
  const runner = await startRunner({
    inbox,
    openDispatchChannel,
    locations: { ...locationsOf(config), bundled: options.bundledHandlers ?? [] },
    ...(config.sinks.length > 0 && { secrets: () => secrets.current() }),
    api: config.api,
    concurrency: config.concurrency,
    logLevel: config.logLevel,
    prettyLog: options.prettyLog,
    onOutput: options.onOutput,
    clock,
    log,
    watch: options.watch ?? false,
    onReloaded(handlers, changed) {
      options.onReloaded?.(handlers, changed)
      reportHandlers(handlers)
    },
    onSettled(counts) {
      metrics.attemptsSettled(counts)
      paces.add(counts)
    },
    onReplaced: () => metrics.runnerReplaced(),
    onFailure: fail,
  })
  opened.defer(() => runner.stop(graceMs(runShare)))
  secrets.onChange(() => runner.send({ kind: 'secrets', secrets: secrets.current() }))
  if (cluster !== undefined) followCluster(cluster, runner)
  reportHandlers(runner.handlers)

  const watch = createHealthWatch({
    inbox,
    senders,
    clock,
    log,
    facts: () => ({
      store: storeHealth(),
      freeBytes: disk.freeBytes(),
      reserveBytes,
      handlers: runner.handlers.map(({ name }) => name),
      openBreakers: runner.openBreakers,
      secretLabels: secretLabels(),
      drift: drift.records(),
    }),
    consoleUrl: config.consoleUrl ?? null,
    // A sender in this process counts its events: the inbox must not add any.
    storesEvents: options.hasSender !== true,
    cluster: cluster && {
      replicaId: cluster.replicaId,
      isLeader,
      living: async () => (await cluster.replicas()).filter(({ isAlive }) => isAlive).map(({ id }) => id),
    },
  })
  opened.defer(() => watch.close())
  const client = reconcileClientOf(options)
  const reconciler = client && createReconciler({ inbox, client, clock, log })
  opened.defer(() => reconciler?.close())

  const paths = [config.path, ...config.sources.map(({ settings }) => settings.path)]
  const storedHeaders = withoutSecrets(config.storedHeaders, sources.sources)
  const rejects = createRejects({ ...config, storedHeaders, paths, clock, secrets: () => secrets.current() })
  const receiving = createReceiving(config, {
    async accept(batch) {
      disk.check()
      return inbox.accept(batch)
    },
    secrets: () => secrets.current(),
    clock,
    log,
    observerOf(source) {
      const meters = senders.filter(({ sender }) => sender.source === source).map((metered) => metered.meter)
      const driftObserver: Partial<ReceiverObserver> = {
        stored(result, delivery) {
          if (result === 'accepted' && delivery.kind === 'event') drift.accepted(delivery)
        },
      }
      // Only the default source's events have a documented format that is checked.
      const drifts = source === defaultSource ? [driftObserver] : []
      return observeAll([metrics.observerOf(source), ...new Set([meter, ...meters]), ...drifts])
    },
    sources: sources.sources,
    logReject: createRejectLog({ ...config, paths, log, clock, rejects }),
    state,
    tracer: createTracer(),
  })
  opened.defer(() => receiving.pressure.close())
  const adminToken = await startAdmin(opened, adminServer, config, {
    inbox,
    metrics,
    state,
    log,
    clock,
    handlers: () => runner.handlers,
    openBreakers: () => runner.openBreakers,
    onConcurrency: (handler, concurrency) => runner.send({ kind: 'concurrency', handler, concurrency }),
    onRecall: (handler) => runner.send({ kind: 'recall', handler }),
    onResume: () => runner.lookForSuspects(),
    trySink: createTrySink({ inbox, runner }),
    meter,
    senders,
    drift,
    watch,
    reconciler,
    rejects,
    secretLabels,
    readEvent: (body) => readAsEvent(body, sources.sources),
    paces: (handler) => paces.of(handler),
    startedAt: clock.now(),
    cluster,
  })

  if (options.hasSender !== true) await startServing(inbox, clock, log)
  const receiver = earlyReceiver ?? (await listenForDeliveries())
  receiver.handle(createReceiverApp({ ...receiving, path: config.webhookSecrets && config.path }))
  isListening = true
  opened.defer(() => receiver.close(graceMs(requestShare)))
  watch.start()
  // First step of a stop: not ready, and each response closes its connection.
  opened.defer(() => {
    state.stopping = true
  })

  return {
    url: `${receiver.url}${config.path}`,
    adminUrl: adminServer.url,
    adminToken,
    handlers: runner.handlers,
    inbox,
    get inFlight() {
      return runner.inFlight
    },
    async reloadSecrets() {
      await Promise.all([secrets.reload(), sources.reload()])
    },
  }
}

interface EarlyServer extends HttpServer {
  /** Sets the listener for requests from now on. */
  handle(listener: RequestListener): void
}

/** A server that answers probes before the app is ready: a database upgrade can take minutes. */
async function listenEarly(
  opened: AsyncDisposableStack,
  options: Omit<HttpServerOptions, 'handler'>,
): Promise<EarlyServer> {
  let listener: RequestListener = answerWhileStarting
  const server = await startHttpServer({ ...options, handler: (request, response) => listener(request, response) })
  opened.defer(() => server.close(0))
  return {
    ...server,
    handle(next) {
      listener = next
    },
  }
}

const answerWhileStarting: RequestListener = (request, response) => {
  const isAlive = request.url === '/healthz'
  const error = { code: 'store_unavailable', message: 'this instance is starting' }
  response.writeHead(isAlive ? 200 : 503, {
    'Content-Type': 'application/json',
    Connection: 'close',
    ...(!isAlive && { 'Retry-After': '5' }),
  })
  response.end(JSON.stringify(isAlive ? { status: 'alive' } : { error }))
}

/** The options that don't follow from the settings. */
export type AdminInputs = Omit<
  AdminAppOptions,
  'pages' | 'token' | 'viewerToken' | 'hosts' | 'settings' | 'now' | 'clock'
> & { readonly clock: Clock }

/** Long actions, such as pruning, are answered when they are done. */
const adminTimeoutMs = 300_000
/** Above the limit of live streams, so that other requests get through. */
const maxAdminConnections = 250

/** Starts the admin API and returns its token. On a stop, streams close first. */
async function startAdmin(
  opened: AsyncDisposableStack,
  server: EarlyServer,
  config: Config,
  inputs: AdminInputs,
): Promise<string> {
  const { host, hosts, viewerToken } = config.admin
  const token = await resolveAdminToken(config)
  const app = createAdminApp({
    ...inputs,
    pages: await createConsolePages(),
    token,
    viewerToken,
    hosts: [host, ...hosts],
    now: () => inputs.clock.now(),
    settings: () => config.settings,
  })
  server.handle(app)
  opened.defer(() => server.close(0))
  opened.defer(() => app.close())
  if (!isLoopback(host)) {
    const advice = 'use a proxy with TLS, and allow only the proxy to connect'
    inputs.log.warn({ adminUrl: server.url, advice }, 'admin port exposed without TLS')
  }
  return token
}

interface AccessOptions {
  readonly config: Pick<Config, 'api'>
  readonly clock: Clock
  readonly log: Logger
}

/** Creates a client per reconciliation, with its own pace. Undefined: no access to the upstream REST API. */
function reconcileClientOf({ config: { api }, log, clock }: AccessOptions): ReconcilerOptions['client'] | undefined {
  if (api === undefined) return undefined
  return (signal, onRequest) =>
    createClient({
      baseUrl: api.url,
      apiKey: api.key,
      clock,
      log,
      signal,
      fetch(...request) {
        onRequest()
        return fetch(...request)
      },
    })
}
