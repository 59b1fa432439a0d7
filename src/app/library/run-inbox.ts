import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import { createDiskGuard, nearlyFull } from '../../health/disk-guard.ts'
import { createApiFactory } from '../../dispatch/api.ts'
import { startInProcess } from '../../dispatch/in-process.ts'
import { followCluster } from '../../dispatch/follow-cluster.ts'
import { InboxError } from '../../base/errors.ts'
import { defaultSource, type DispatchStore } from '../../inbox/port.ts'
import { createLogLimit } from '../../base/log-limit.ts'
import type { Logger } from '../../base/log.ts'
import { reportWaiting, startServing, type OpenedInbox } from '../../inbox/open.ts'
import { answerFor, send } from '../../receiver/answer.ts'
import { receiveBytes, toResponse, type DeliveryRequest, type DeliveryResponse } from '../../receiver/receive-bytes.ts'
import { createReceiving, observeAll, receive, type ReceiveOptions } from '../../receiver/receive.ts'
import { createRejectLog, type RejectLog } from '../../receiver/rejects.ts'
import { startRetention } from '../../health/retention.ts'
import { inlineSecrets } from '../../config/credentials.ts'
import { readSourceSecrets } from '../../config/sources.ts'
import { runSources } from '../sources.ts'
import { createWebhookSecrets } from '../../config/secrets.ts'
import { createTracer } from '../../base/tracing.ts'
import { reportEnded, reportStored, type Reporter } from './events.ts'
import type { EmbeddedInboxSettings } from './options.ts'

/** Shares of `shutdownMs` for requests in flight and for runs in flight. */
const requestShare = 0.25
const runShare = 0.5

export interface RunInboxOptions {
  readonly settings: EmbeddedInboxSettings
  readonly open: () => Promise<Pick<OpenedInbox, 'inbox' | 'cluster'>>
  readonly reporter: Reporter
}

export type RunningInbox = Awaited<ReturnType<typeof runInbox>>

/** Opens and starts everything in order. A stop closes it in reverse order. */
export async function runInbox({ settings, open, reporter }: RunInboxOptions) {
  const { log, clock, shutdownMs } = settings
  await using opened = new AsyncDisposableStack()
  const state = { stopping: false, health: () => (disk.isLow() ? nearlyFull : inbox.health()) }
  const inFlight = new Set<Promise<unknown>>()
  let failure: Error | undefined
  // After a store failure a stop doesn't wait: nothing can be stored any more.
  const graceMs = (share: number) => (failure === undefined ? shutdownMs * share : 0)

  const secrets = createWebhookSecrets((await settings.secrets?.()) ?? inlineSecrets([]), log, clock)
  opened.defer(() => secrets.close())
  const { sources: configured, problems } = await readSourceSecrets(settings.sources)
  if (problems.length > 0) throw new InboxError('config_invalid', problems.join('\n'))
  const { inbox, cluster } = await open()
  opened.defer(() => inbox.close())
  const sources = runSources(configured, { inbox, clock, log })
  opened.defer(() => sources.close())

  const { database, diskReserveBytes: reserveBytes } = settings
  const disk = await createDiskGuard({ database, reserveBytes, clock, log })
  opened.defer(() => disk.close())
  const { retentionDays: days, retentionBytes: maxBytes } = settings
  const retention = startRetention({ inbox, days, maxBytes, isLeader: () => cluster?.isLeader() ?? true, clock, log })
  opened.defer(() => retention.close())
  const runner = await startInProcess({
    work: untilFailure(inbox, () => failure !== undefined),
    handlers: settings.handlers,
    api: createApiFactory(settings.api, clock, log),
    concurrency: settings.concurrency,
    clock,
    log,
    observer: {
      settled(_handler, result, durationMs, ended) {
        if (result !== 'conflict') reportEnded(reporter, ended, durationMs)
      },
      stuck(handler) {
        log.error({ handler }, 'handler runs after timeout')
        reporter.report('stuck', { handler })
      },
    },
  })
  opened.defer(() => runner.stop(graceMs(runShare)))
  // No handlers, because this runner looks for suspects all the time.
  if (cluster !== undefined) followCluster(cluster, { handlers: [], send: runner.send, lookForSuspects() {} })
  inbox.onFailure((error) => {
    failure = error
    log.fatal({ error: error.message }, 'store failed, inbox unusable')
    reporter.report('failed', { error })
    // `stop` of the inbox reports stuck handlers.
    runner.stop(0).catch(() => {})
  })
  // Not awaited: it counts the backlog.
  reportWaiting(inbox, settings.handlers, log).catch(() => {})

  const observer = observeAll([
    {
      rejected: (reason) => reporter.report('rejected', { reason }),
      refused: (code) => reporter.report('refused', { code }),
    },
  ])
  const receiving = createReceiving(settings, {
    async accept(batch) {
      disk.check()
      const results = await inbox.accept(batch)
      batch.forEach((delivery, index) => reportStored(reporter, delivery, results[index]))
      return results
    },
    secrets: () => secrets.current(),
    sources: sources.sources,
    clock,
    log,
    observerOf: () => observer,
    logReject: explainRejects(createRejectLog(settings), log, clock),
    state,
    tracer: createTracer(),
  })
  opened.defer(() => receiving.pressure.close())
  opened.defer(async () => {
    state.stopping = true
    const late = Promise.withResolvers<void>()
    const timer = clock.after(graceMs(requestShare), late.resolve)
    await Promise.race([Promise.all(inFlight), late.promise])
    timer.cancel()
    // The last deliveries go to the store on the next turn.
    await nextTurn()
  })

  /** Makes a stop wait for the work. */
  async function track<T>(work: Promise<T>): Promise<T> {
    inFlight.add(work)
    try {
      return await work
    } finally {
      inFlight.delete(work)
    }
  }

  const receivingOf = (source: string): ReceiveOptions | undefined =>
    source === defaultSource
      ? ((settings.secrets && receiving) ?? undefined)
      : receiving.sources.find(({ name }) => name === source)

  await startServing(inbox, clock, log)
  const parts = opened.move()
  return {
    health: state.health,
    async deliver(source: string, request: IncomingMessage, response: ServerResponse) {
      const how = receivingOf(source)
      if (how === undefined) send(response, answerFor('not_found'), state.stopping)
      else await track(receive(how, request, response))
    },
    async receive(request: DeliveryRequest): Promise<DeliveryResponse> {
      const how = receivingOf(request.source ?? defaultSource)
      return how === undefined ? toResponse(answerFor('not_found')) : track(receiveBytes(how, request))
    },
    stop: () => parts.disposeAsync(),
  }
}

/** A dispatch store that acts as closed after the store has failed. */
function untilFailure(work: DispatchStore, hasFailed: () => boolean): DispatchStore {
  return {
    ...work,
    claim: async (request) => (hasFailed() ? [] : work.claim(request)),
    async settle(outcomes) {
      if (hasFailed()) throw new InboxError('shutting_down', 'the store has failed')
      return work.settle(outcomes)
    },
    retire: async (owner) => (hasFailed() ? undefined : work.retire(owner)),
    release: async (leases) => (hasFailed() ? undefined : work.release(leases)),
  }
}

const bodyLost = new InboxError(
  'body_already_read',
  'a body parser ran before the inbox and consumed the signed bytes; mount the router first: ' +
    "app.use('/webhooks', inbox.router) before app.use(express.json()). If the parser must come first, let it keep the " +
    'bytes: express.json({ verify(request, _response, raw) { request.rawBody = raw } }). Or pass the bytes to ' +
    'inbox.receive() as a Uint8Array',
)

/** Logs a consumed body as an error: a mistake of the app, not of the sender. */
function explainRejects(logReject: RejectLog, log: Logger, clock: Clock): RejectLog {
  const limit = createLogLimit(clock)
  return (request, reason) => {
    if (reason !== bodyLost.code) return logReject(request, reason)
    const line = limit()
    if (line !== null) log.error({ code: bodyLost.code, ...line }, bodyLost.message)
  }
}
