import { z } from 'zod'
import { alert, deletedAlert, newAlert } from './alert.ts'
import { errorEnvelope, metas, type MetaKind } from './envelope.ts'
import { errorObject } from './error.ts'
import { examples } from './examples.ts'
import { networkInfo } from './network.ts'
import { token } from './token.ts'
import { pnlSummary, position, trade, walletOverview } from './wallet.ts'
import { createdWebhook, deletedWebhook, newWebhook, webhook, webhookChange } from './webhook.ts'

/** Named schemas of the documents. */
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

const metaNames = { plain: 'PlainMeta', network: 'NetworkMeta', page: 'PageMeta' } as const

/** An example of a named schema, or of a list of one. Throws a RangeError for a schema without a name. */
export function exampleOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)]
  for (const [name, example] of Object.entries(examples)) {
    if (components[name as keyof typeof examples] === schema) return example
  }
  throw new RangeError('no named schema: add it to the components')
}

/** An example of a `meta`. */
export function exampleMeta(kind: MetaKind): object {
  return examples[metaNames[kind]]
}
