import { z } from 'zod'
import { newAlert } from '../../../schema/rest/alert.ts'
import { newWebhook } from '../../../schema/rest/webhook.ts'
import { canonical } from './bodies.ts'

// What is asked of webhooks and alerts: by the schemas of the REST service, so that both ways in refuse the same.

const accountProblem = 'expected the id or the name of an account'
/** Without it the first account is meant. */
const account = z.exactOptional(z.string({ error: accountProblem }).min(1, accountProblem))

const { url, events, secret } = newWebhook.shape

export const webhookBody = z.strictObject({ account, url, events, secret })

export const webhookChangeBody = z
  .strictObject({ url: url.optional(), events: events.optional(), secret })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one of url, events and secret')

const { type, network, threshold, webhook_url: webhookUrl, label } = newAlert.shape

export const alertBody = z
  .strictObject({ account, type, address: z.string(), network, threshold, webhookUrl, label })
  .transform(canonical('address'))

export const accountChoiceBody = z.strictObject({ account })
