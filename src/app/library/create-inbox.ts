import { InboxError } from '../../base/errors.ts'
import { defaultSource } from '../../inbox/port.ts'
import { openInbox } from '../../inbox/open.ts'
import { nearest } from '../../base/edit-distance.ts'
import { answerFor, methodAnswer, probeAnswer, type AnswerCode, send } from '../../receiver/answer.ts'
import { methodsOf } from '../../receiver/receive.ts'
import { toResponse, type DeliveryRequest, type DeliveryResponse } from '../../receiver/receive-bytes.ts'
import { createReporter, type InboxEmitter } from './events.ts'
import { parseOptions, type EmbeddedInboxOptions, type EmbeddedInboxSettings } from './options.ts'
import { runInbox, type RunInboxOptions, type RunningInbox } from './run-inbox.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** An inbox in your process. */
export interface EmbeddedInbox extends AsyncDisposable {
  /**
   * Receives deliveries: `app.use('/webhooks', inbox.router)`, before any body parser. Answers 503 before `start` has
   * resolved and after `stop` was called. With the name of a source it returns that source's router:
   * `app.use('/hooks/alchemy', inbox.router('alchemy'))`.
   *
   * @throws InboxError `usage` for an unknown source
   */
  readonly router: InboxRouter & ((source?: string) => InboxRouter)
  /**
   * Receives a delivery from any framework: pass the exact bytes of the body and send the returned response. Never
   * rejects. Limit the size of bodies in the framework, because here the body was already read.
   *
   * @example
   * app.post('/webhooks', async (c) => {
   *   const { status, headers, body } = await inbox.receive({ headers: c.req.raw.headers, body: await c.req.arrayBuffer() })
   *   return new Response(body, { status, headers })
   * })
   */
  receive(request: DeliveryRequest): Promise<DeliveryResponse>
  /** Events about deliveries and runs. */
  readonly events: InboxEmitter
  /** Opens the database and starts the handlers. If it rejects, everything is closed and it can be called again. Idempotent. */
  start(): Promise<void>
  /**
   * Rejects new deliveries, lets runs in flight finish within `shutdownMs`, releases the others, closes the database.
   * Idempotent; a stopped inbox can't be started again. Rejects with `handler_stuck` if handlers still run after that;
   * `details.handlers` names them.
   */
  stop(): Promise<void>
  /** Tells whether deliveries can be stored, and if not, why. */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string }
}

/**
 * Creates an inbox in your app: a router that stores deliveries durably before it answers 200, and handlers that run in
 * this process. A handler that blocks the event loop delays answers, and one that exits ends the app; the sidecar
 * (`onchain-inbox serve`) isolates them.
 *
 * @throws InboxError `config_invalid` with every invalid option
 *
 * @example
 * const inbox = createInbox({ secrets: 'the-secret-of-the-webhook', handlers: [bigTrades] })
 * app.use('/webhooks', inbox.router)
 * await inbox.start()
 */
export function createInbox(options: EmbeddedInboxOptions): EmbeddedInbox {
  const settings = parseOptions(options)
  return embedInbox(settings, () => openInbox(settings))
}

/** `createInbox` with its options checked; `open` opens the store. */
export function embedInbox(settings: EmbeddedInboxSettings, open: RunInboxOptions['open']): EmbeddedInbox {
  const reporter = createReporter(settings.log)
  let starting: Promise<void> | undefined
  let running: RunningInbox | undefined
  let stopping: Promise<void> | undefined

  async function start(): Promise<void> {
    try {
      running = await runInbox({ settings, open, reporter })
    } catch (error) {
      starting = undefined
      throw error
    }
  }

  async function stop(): Promise<void> {
    // Wait for a start in progress.
    await starting?.catch(() => {})
    try {
      await running?.stop()
    } finally {
      reporter.flush()
    }
  }

  const unavailableCode = () => (stopping === undefined ? 'store_unavailable' : 'shutting_down')
  const receiving = () => (stopping === undefined ? running : undefined)

  const stopOnce = () => (stopping ??= stop())

  function routerOf(source: string): InboxRouter {
    const known = settings.sources.find(({ name }) => name === source)
    if (known === undefined && source !== defaultSource) {
      const names = [defaultSource, ...settings.sources.map(({ name }) => name)]
      const rule = `must be one of ${names.join(', ')} (got ${JSON.stringify(source)})`
      throw new InboxError('usage', `the source of a router ${rule}${nearest(source, names)}`)
    }
    return createRouter(methodsOf(known?.probes ?? []), (): Deliver => {
      const running = receiving()
      return running ? (request, response) => running.deliver(source, request, response) : unavailableCode()
    })
  }

  const router = routerOf(defaultSource)
  return {
    router: ((...args: [source?: string] | Parameters<InboxRouter>) => {
      if (args.length > 1) return router(...(args as Parameters<InboxRouter>))
      const [source] = args as [source?: string]
      return source === undefined ? router : routerOf(source)
    }) as EmbeddedInbox['router'],
    async receive(request) {
      return (await receiving()?.receive(request)) ?? toResponse(answerFor(unavailableCode()))
    },
    events: reporter.emitter,
    async start() {
      if (stopping !== undefined) throw new InboxError('shutting_down', 'the inbox was stopped: create another one')
      await (starting ??= start())
    },
    stop: stopOnce,
    health() {
      if (stopping !== undefined) return { ok: false, reason: 'the inbox is stopped' }
      if (running === undefined) return { ok: false, reason: 'the inbox is not started' }
      const health = running.health()
      return health.ok ? { ok: true } : { ok: false, reason: health.reason }
    },
    [Symbol.asyncDispose]: stopOnce,
  }
}

/** A handler for Express, and for `http.createServer` as well. */
export type InboxRouter = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** Handles a delivery; an error code if the inbox can't receive. */
export type Deliver = ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | AnswerCode

/**
 * Receives deliveries, and probes of senders that test the URL, at exactly the mounted path, with `app.use(path, router)`
 * or `app.post(path, router)`. Passes requests below that path on.
 */
function createRouter(methods: readonly string[], deliver: () => Deliver): InboxRouter {
  return (request, response, next) => {
    if (next !== undefined && isBelow(request)) return next()
    const { method = '' } = request
    if (method !== 'POST') return send(response, methods.includes(method) ? probeAnswer : methodAnswer(methods), false)
    const handleOrCode = deliver()
    if (typeof handleOrCode === 'string') return send(response, answerFor(handleOrCode), true)
    handleOrCode(request, response).catch((error: unknown) => {
      if (next === undefined) response.destroy()
      else next(error)
    })
  }
}

/** Express passes a middleware the rest of the path, and a route the whole path. */
function isBelow(request: IncomingMessage): boolean {
  const { route, path } = request as { readonly route?: unknown; readonly path?: string }
  return route === undefined && path !== undefined && path !== '/'
}
