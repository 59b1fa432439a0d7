import express, { type Express } from 'express'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Express without its defaults: no x-powered-by, no etag, exact paths, no proxy trust. */
export function bareExpress(): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', false)
  app.enable('strict routing')
  app.enable('case sensitive routing')
  return app
}

/** Sends 100 Continue to a client that waits for it (`Expect: 100-continue`). Call before reading the body. */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  const { expect } = request.headers
  if (expect === undefined || request.httpVersion !== '1.1') return
  if (expect.toLowerCase() === '100-continue') response.writeContinue()
}

/** Routes by path. Paths without a parameter come first: otherwise `/counts` would match `/:id`. */
export function groupByPath<R extends { readonly path: string }>(
  routes: readonly R[],
): readonly (readonly [path: string, routes: readonly R[]])[] {
  const byPath = [...Map.groupBy(routes, ({ path }) => path)]
  return byPath.toSorted(([a], [b]) => Number(a.includes(':')) - Number(b.includes(':')))
}
