import { z } from 'zod'
import { eventTypes } from '../index.ts'
import { aboutOtherMembers, assumed, openEnum, text, timestamp } from './fields.ts'
import { endpointUrl } from './url.ts'

/** The documented types, and that of alerts on volume (A41). */
const names = [...eventTypes, 'token.volume_spike', '*'] as const
const repeatedProblem = 'expected each type name once'
const emptyProblem = 'expected at least one type name, or the wildcard "*"'
const wildcardProblem = 'expected the wildcard "*" alone, without type names'

const url = endpointUrl.describe(
  'URL that gets the POSTs, reachable from the service: https, or http to this machine. It is kept as it came.',
)
/** A receiver trims its secrets, so one that begins or ends with white space would never verify. */
const trimmed = /^\S[\s\S]*\S$/
const trimProblem = 'expected a secret that neither begins nor ends with white space'
const secret = assumed(text('a secret', 16, 256).regex(trimmed, trimProblem), 'A30', 'A69').describe(
  'Secret that deliveries are signed with: its UTF-8 bytes as they are, never decoded.',
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

/** Body of POST /webhooks (R60, R61, R77, A23, A25). */
export const newWebhook = z
  .object({
    url,
    events,
    secret: secret
      .describe(`${secret.description ?? ''} Without one the service makes it and shows it once.`)
      .optional(),
  })
  .describe(`A webhook to register. ${aboutOtherMembers}`)

/** Body of PATCH /webhooks/{webhook_id}: what is given is changed (R91, A22). */
export const webhookChange = z
  .object({ url: url.optional(), events: events.optional(), secret: secret.optional() })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one of url, events and secret')
  .describe(`What to change of a webhook, at least one of its members. ${aboutOtherMembers}`)
  .meta({
    anyOf: [{ required: ['url'] }, { required: ['events'] }, { required: ['secret'] }],
    'x-assumption': ['A22'],
  })

const webhookFields = {
  webhook_id: z
    .string()
    .regex(/^wh_.+/)
    .describe('Opaque identifier, the handle for managing the webhook.'),
  url: z.string().describe('URL that gets the POSTs.').meta({ format: 'uri' }),
  events: z.array(z.string()).min(1).describe('Names of event types, or the single wildcard `*`.'),
  status: openEnum('active').describe('Whether it gets deliveries; more may come.'),
  created_at: timestamp.describe('When the webhook was registered, UTC.'),
}

/** A webhook as it is shown: without its secret. The service names no field of it: all of them are A8. */
export const webhook = z
  .object(webhookFields)
  .describe('A registered webhook.')
  .meta({ 'x-assumption': ['A8'] })

/** `data` of POST /webhooks: the secret is there only if the service made it, and is never shown again (R76, A8). */
export const createdWebhook = z
  .object({
    ...webhookFields,
    secret: z.string().optional().describe('The secret, if the service made it. It is not shown again.'),
  })
  .describe('The webhook that was registered.')
  .meta({ 'x-assumption': ['A8'] })

/** `data` of DELETE /webhooks/{webhook_id} (A22). */
export const deletedWebhook = z
  .object({ webhook_id: z.string().describe('What it was.'), deleted: z.literal(true).describe('It is gone.') })
  .describe('A webhook that is gone.')
  .meta({ 'x-assumption': ['A22'] })
