import type { NextFunction, Request, Response } from 'express'
import type { RequestListener } from 'node:http'
import { bareExpress, sendContinue } from '../base/http/bare-express.ts'
import { messageOf } from '../base/errors.ts'
import { safeText, type Logger } from '../base/log.ts'
import { healthAnswer, answerFor, probeAnswer, send } from './answer.ts'
import { receive, reject, type ReceiveOptions, type SourceReceiving } from './receive.ts'

export interface ReceiverAppOptions extends Omit<ReceiveOptions, 'beforeBody'> {
  /** Path of the default source; null: there is none. */
  readonly path: string | null
  readonly sources?: readonly SourceReceiving[]
  readonly log: Logger
}

/** The Express app of the webhook endpoints. Order of checks: path and method, framing and size, signature, parse, store. */
export function createReceiverApp(appOptions: ReceiverAppOptions): RequestListener {
  const app = bareExpress()
  const options = { ...appOptions, beforeBody: sendContinue }

  // Deliveries come first: Express tries routes in order.
  const { path, sources = [] } = appOptions
  for (const receiving of path === null ? sources : [{ ...options, path }, ...sources]) {
    const receivingNow = { ...receiving, beforeBody: sendContinue }
    app.post(receiving.path, (request, response) => receive(receivingNow, request, response))
    app.all(receiving.path, (request, response) => {
      if (receiving.methods.includes(request.method)) send(response, probeAnswer, receiving.state.stopping)
      else reject(receivingNow, request, response, 'method_not_allowed')
    })
  }
  app.get('/healthz', (_request, response) => send(response, healthAnswer('alive'), options.state.stopping))
  app.get('/readyz', (_request, response) => {
    const health = options.state.health()
    if (options.state.stopping) send(response, answerFor('shutting_down'), true)
    else if (health.ok) send(response, healthAnswer('ready'), false)
    else send(response, answerFor(health.full ? 'store_full' : 'store_unavailable'), false)
  })
  app.use((request, response) => reject(options, request, response, 'not_found'))
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    options.log.error({ error: safeText(messageOf(error)) }, 'request failed')
    reject(options, request, response, 'internal')
  })
  // An invalid URL reaches no route. Express would answer it in HTML.
  return (request, response) =>
    app(request as Request, response as Response, () => reject(options, request, response, 'not_found'))
}
