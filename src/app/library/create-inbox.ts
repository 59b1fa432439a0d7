import { InboxError } from '../../base/errors.ts'
import type { Inbox } from '../../inbox/port.ts'
import { openInbox } from '../../inbox/open.ts'
import { answerFor, type AnswerCode, send } from '../../receiver/answer.ts'
import { toResponse, type DeliveryRequest, type DeliveryResponse } from '../../receiver/receive-bytes.ts'
import { createTelling, type InboxEmitter } from './events.ts'
import { parseOptions, type EmbeddedInboxOptions, type EmbeddedInboxSettings } from './options.ts'
import { runInbox, type RunningInbox } from './run-inbox.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** An inbox inside a process of yours. */
export interface EmbeddedInbox extends AsyncDisposable {
  /**
   * Takes the deliveries: `app.use('/webhooks', inbox.router)`, before any body parser. Answers 503 until `start` has resolved
   * and from the call of `stop` on.
   */
  readonly router: InboxRouter
  /**
   * Takes a delivery from any framework: give it the exact bytes of the body, and answer what it resolves to. It does what `router`
   * does, with the same answers, and never rejects. What it cannot do is refuse a body before it is read: the limit of the
   * framework has to.
   *
   * @example
   * app.post('/webhooks', async (c) => {
   *   const { status, headers, body } = await inbox.receive({ headers: c.req.raw.headers, body: await c.req.arrayBuffer() })
   *   return new Response(body, { status, headers })
   * })
   */
  receive(request: DeliveryRequest): Promise<DeliveryResponse>
  /** What became of deliveries and runs. */
  readonly events: InboxEmitter
  /**
   * Opens the database and starts the handlers. Rejects with what keeps it from starting, with nothing left open; then it can be
   * called again. Idempotent.
   */
  start(): Promise<void>
  /**
   * Takes no more deliveries, lets what is under way finish for `shutdownMs`, gives back the other runs, closes the database.
   * Idempotent; an inbox that was stopped cannot be started again. Rejects with `handler_stuck` if handlers still run after
   * that; its message and `details.handlers` name them. All else is closed by then.
   */
  stop(): Promise<void>
  /** Whether a delivery can be stored, as far as is known, and if not, why. */
  health(): { readonly ok: true } | { readonly ok: false; readonly reason: string }
}

/**
 * An inbox for an app of yours: a router for its deliveries, stored durably before they are answered 200, and handlers that run
 * in this process. So a handler that blocks the event loop holds up answers, and one that ends the process ends the app; the
 * sidecar (`onchain-inbox serve`) keeps them apart. It never ends the process itself.
 *
 * @throws InboxError `config_invalid` that lists everything that is wrong with the options
 *
 * @example
 * const inbox = createInbox({ secrets: 'the-secret-of-the-webhook', handlers: [bigTrades] })
 * app.use('/webhooks', inbox.router)
 * await inbox.start()
 */
export function createInbox(options: EmbeddedInboxOptions): EmbeddedInbox {
  const settings = parseOptions(options)
  return embedInbox(settings, async () => (await openInbox(settings)).inbox)
}

/** `createInbox` with its options checked; `open` opens the store. */
export function embedInbox(settings: EmbeddedInboxSettings, open: () => Promise<Inbox>): EmbeddedInbox {
  const telling = createTelling(settings.log)
  let starting: Promise<void> | undefined
  let running: RunningInbox | undefined
  let stopping: Promise<void> | undefined

  async function start(): Promise<void> {
    try {
      running = await runInbox({ settings, open, telling })
    } catch (error) {
      starting = undefined
      throw error
    }
  }

  async function stop(): Promise<void> {
    // One that is still starting is stopped once it has.
    await starting?.catch(() => {})
    try {
      await running?.stop()
    } finally {
      telling.flush()
    }
  }

  const whyNot = () => (stopping === undefined ? 'store_unavailable' : 'shutting_down')
  const taking = () => (stopping === undefined ? running : undefined)

  const stopOnce = () => (stopping ??= stop())
  return {
    router: createRouter((): Deliver => taking()?.deliver ?? whyNot()),
    async receive(request) {
      return (await taking()?.receive(request)) ?? toResponse(answerFor(whyNot()))
    },
    events: telling.emitter,
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

/** What a router does with a delivery; a code if it can do nothing. */
export type Deliver = ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | AnswerCode

/**
 * Takes POST requests at exactly the path where it is mounted, be it by `app.use(path, router)` or `app.post(path, router)`.
 * Requests for what lies below that path are passed on.
 */
function createRouter(deliver: () => Deliver): InboxRouter {
  return (request, response, next) => {
    if (next !== undefined && isBelow(request)) return next()
    if (request.method !== 'POST') return send(response, answerFor('method_not_allowed'), false)
    const how = deliver()
    if (typeof how === 'string') return send(response, answerFor(how), true)
    how(request, response).catch((error: unknown) => {
      if (next === undefined) response.destroy()
      else next(error)
    })
  }
}

/** Express gives a middleware the path behind where it is mounted, and a route the whole path. */
function isBelow(request: IncomingMessage): boolean {
  const { route, path } = request as { readonly route?: unknown; readonly path?: string }
  return route === undefined && path !== undefined && path !== '/'
}
