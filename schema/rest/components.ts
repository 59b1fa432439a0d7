import { z } from 'zod'
import { alert, deletedAlert, newAlert } from './alert.ts'
import { errorEnvelope, metas } from './envelope.ts'
import { errorObject } from './error.ts'
import { networkInfo } from './network.ts'
import { token } from './token.ts'
import { pnlSummary, position, trade, walletOverview } from './wallet.ts'
import { createdWebhook, deletedWebhook, newWebhook, webhook, webhookChange } from './webhook.ts'

/** Schemas in `components` of the OpenAPI document. */
export const components = {
  WalletOverview: walletOverview,
  Position: position,
  PnlSummary: pnlSummary,
  Trade: trade,
  Token: token,
  NewAlert: newAlert,
  Alert: alert,
  DeletedAlert: deletedAlert,
  Network: networkInfo,
  NewWebhook: newWebhook,
  WebhookChange: webhookChange,
  Webhook: webhook,
  CreatedWebhook: createdWebhook,
  DeletedWebhook: deletedWebhook,
  PlainMeta: metas.plain,
  NetworkMeta: metas.network,
  PageMeta: metas.page,
  Error: errorObject,
  Failure: errorEnvelope,
} as const satisfies Readonly<Record<string, z.ZodObject>>

/** The example of a schema, or of the elements of an array. */
export function exampleOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)]
  return (schema.meta()?.examples as readonly unknown[] | undefined)?.[0]
}
