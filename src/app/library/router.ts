import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerFor, type AnswerCode } from '../../receiver/answer.ts'
import { send } from '../../receiver/send.ts'

/** A handler for Express, and for `http.createServer` as well. */
export type InboxRouter = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** What a router does with a delivery; a code if it can do nothing. */
export type Deliver = ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | AnswerCode

/**
 * Takes POST requests at exactly the path where it is mounted, be it by `app.use(path, router)` or `app.post(path, router)`.
 * Requests for what lies below that path are passed on.
 */
export function createRouter(deliver: () => Deliver): InboxRouter {
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
