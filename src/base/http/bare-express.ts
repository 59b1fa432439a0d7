import express, { type Express } from 'express'

/** Express without what it adds by default: no x-powered-by, no etag, exact paths, no proxy trust. */
export function bareExpress(): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', false)
  app.enable('strict routing')
  app.enable('case sensitive routing')
  return app
}
