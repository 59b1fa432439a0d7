import { z } from 'zod'
import { alert, deletedAlert, newAlert } from './alert.ts'
import { errorEnvelope, metas, type MetaKind } from './envelope.ts'
import { errorObject } from './error.ts'
import { examples } from './examples.ts'
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

const metaNames = { plain: 'PlainMeta', network: 'NetworkMeta', page: 'PageMeta' } as const

/** An example of a named schema, or of an array of it. Throws a RangeError if the schema isn't in `components`. */
export function exampleOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)]
  for (const [name, example] of Object.entries(examples)) {
    if (components[name as keyof typeof examples] === schema) return example
  }
  throw new RangeError('the schema has no name: add it to the components')
}

/** An example of the member `meta`. */
export function exampleMeta(kind: MetaKind): object {
  return examples[metaNames[kind]]
}
