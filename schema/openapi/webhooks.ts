import { assumptionsOf, eventExamples, eventSchemas } from '../events.ts'
import { eventTypes, type EventType } from '../names.ts'
import { toComponents, type JsonObject } from '../json-schema.ts'
import { toPascalCase } from './responses.ts'

/** The header that every delivery carries (R71, R72). */
export const signature: JsonObject = {
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  description:
    'HMAC-SHA256 of the exact bytes of the body with the secret of the webhook, in lower-case hex. Compute it over the ' +
    'raw bytes, compare it in constant time, and answer 401 to a mismatch.',
  'x-assumption': ['A30'],
}

export const exampleSignature = '1f0c7f9d5e6b3a2841d7c8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3'

/** Name of an event type's schema in the documents: `WalletLargeTradeEvent`. */
export function toSchemaName(type: EventType): string {
  return `${toPascalCase(type.split(/[._]/))}Event`
}

/** Schemas of all events, by name. Assumptions about a whole event are on its operation, not on its schema. */
export function eventComponents(): Readonly<Record<string, JsonObject>> {
  const schemas = toComponents(Object.fromEntries(eventTypes.map((type) => [toSchemaName(type), eventSchemas[type]])))
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { 'x-assumption': _assumptions, ...schema }]) => [name, schema]),
  )
}

/** A POST to each webhook subscribed to the type (R78). */
export function webhooks(): JsonObject {
  return Object.fromEntries(
    eventTypes.map((type) => {
      const schema = { $ref: `#/components/schemas/${toSchemaName(type)}` }
      const post = {
        operationId: `on${toSchemaName(type)}`,
        tags: ['events'],
        summary: type,
        description: `${eventSchemas[type].description} ${deliveryRules}`,
        security: [],
        parameters: [{ $ref: '#/components/parameters/Signature' }],
        requestBody: { required: true, content: { 'application/json': { schema, example: eventExamples[type] } } },
        responses: deliveryResponses,
        'x-assumption': [...assumptionsOf(type), 'A43', 'A44', 'A47'],
      }
      return [type, { post }]
    }),
  )
}

const deliveryRules =
  'Answer with any 2xx within 5 seconds. Otherwise the delivery has failed and is retried 1 minute, 5 minutes, ' +
  '30 minutes, 2 hours and 8 hours after the previous failure. The same event can be delivered more than once, with ' +
  'the same `id`.'

const deliveryResponses: JsonObject = {
  '2XX': { description: 'Acknowledged: there is no retry.' },
  '401': { description: 'The signature does not verify. The delivery has failed and is retried.' },
  default: { description: 'The delivery has failed and is retried.' },
}
