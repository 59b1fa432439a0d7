import { z } from 'zod'
import { assumed } from '../fields.ts'
import { eventTypes } from '../names.ts'
import { exampleIds, exampleTime } from './examples.ts'
import { aboutOtherMembers, openEnum, resource, text, timestamp } from './fields.ts'
import { endpointUrl } from './url.ts'

/** The documented types, the type of alerts on volume (A41), and the wildcard. */
const names = [...eventTypes, 'token.volume_spike', '*'] as const
const repeatedProblem = 'expected each type name once'
const emptyProblem = 'expected at least one type name, or the wildcard "*"'
const wildcardProblem = 'expected the wildcard "*" alone, without type names'

const url = endpointUrl.describe('URL that gets the POSTs: https, or http to this machine. It is kept unchanged.')
/** Receivers trim their secrets, so a secret with surrounding white space would never verify. */
const trimmed = /^\S[\s\S]*\S$/
const trimProblem = 'expected a secret that neither begins nor ends with white space'
const secret = assumed(text('a secret', 16, 256).regex(trimmed, trimProblem), 'A30', 'A69').describe(
  'Secret that signs deliveries: its UTF-8 bytes, never decoded.',
)
const events = assumed(
  z
    .array(z.enum(names), { error: 'expected an array of type names' })
    .min(1, emptyProblem)
    .refine((list) => list.length === 1 || !list.includes('*'), wildcardProblem)
    .refine((list) => new Set(list).size === list.length, repeatedProblem)
    .meta({ uniqueItems: true, anyOf: [{ maxItems: 1 }, { items: { not: { const: '*' } } }] }),
  'A23',
  'A41',
).describe('Names of event types, or the single wildcard `*` for all current and future types.')

const example = { url: 'https://hooks.example.com/events', events: ['wallet.large_trade', 'token.price_alert'] }

/** Body of POST /webhooks (R60, R61, R77, A23, A25). */
export const newWebhook = resource(
  `A webhook to register. ${aboutOtherMembers}`,
  {
    url,
    events,
    secret: secret.describe(`${secret.description ?? ''} Default: a generated secret, shown once.`).optional(),
  },
  example,
)

/** Body of PATCH /webhooks/{webhook_id}: members to change (R91, A22). */
export const webhookChange = z
  .object({ url: url.optional(), events: events.optional(), secret: secret.optional() })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one of url, events and secret')
  .describe(`Changes of a webhook, at least one member. ${aboutOtherMembers}`)
  .meta({
    anyOf: [{ required: ['url'] }, { required: ['events'] }, { required: ['secret'] }],
    'x-assumption': ['A22'],
    examples: [{ events: ['*'] }],
  })

const webhookFields = {
  webhook_id: z
    .string()
    .regex(/^wh_.+/)
    .describe('Opaque identifier, the handle for managing the webhook.'),
  url: z.string().describe('URL that gets the POSTs.').meta({ format: 'uri' }),
  events: z.array(z.string()).min(1).describe('Names of event types, or the single wildcard `*`.'),
  status: openEnum('active').describe('`active` if it gets deliveries; more values may come.'),
  created_at: timestamp.describe('When the webhook was registered, UTC.'),
}

export const exampleWebhook = {
  webhook_id: exampleIds.webhook,
  ...example,
  status: 'active',
  created_at: exampleTime,
}

/** A webhook in responses, without its secret. The service documents no field of it (A8). */
export const webhook = z
  .object(webhookFields)
  .describe('A registered webhook.')
  .meta({ 'x-assumption': ['A8'], examples: [exampleWebhook] })

/** `data` of POST /webhooks. A generated secret is shown here only (R76, A8). */
export const createdWebhook = resource(
  'The new webhook.',
  {
    ...webhookFields,
    secret: z.string().optional().describe('The secret, if it was generated. It is not shown again.'),
  },
  { ...exampleWebhook, secret: 'whsec_example_shown_once' },
  'A8',
)

/** `data` of DELETE /webhooks/{webhook_id} (A22). */
export const deletedWebhook = resource(
  'A deleted webhook.',
  { webhook_id: z.string().describe('Its identifier.'), deleted: z.literal(true) },
  { webhook_id: exampleIds.webhook, deleted: true },
  'A22',
)
