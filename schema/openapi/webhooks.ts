import { envelopeNotes, eventExamples, eventNotes, toSchemaName } from '../event-notes.ts'
import { eventSchemas, eventTypes, type EventType } from '../index.ts'
import { toComponents, type JsonObject } from '../json-schema.ts'

/** The header that every delivery carries (R71, R72). */
export const signature: JsonObject = {
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  description:
    'HMAC-SHA256 of the exact bytes of the body with the secret of the webhook, in lower-case hex. Compute it over the ' +
    'bytes as they came, compare it in constant time, and answer 401 where it differs.',
  'x-assumption': ['A30'],
}

/** What the signature of an example looks like. */
export const exampleSignature = '1f0c7f9d5e6b3a2841d7c8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3'

/** The schemas of all events by name, with the marks of what is our choice. */
export function eventComponents(): Readonly<Record<string, JsonObject>> {
  const schemas = toComponents(Object.fromEntries(eventTypes.map((type) => [toSchemaName(type), eventSchemas[type]])))
  return Object.fromEntries(
    eventTypes.map((type) => {
      const name = toSchemaName(type)
      const schema = schemas[name] ?? {}
      const { data, ...envelope } = schema['properties'] as Record<string, JsonObject>
      const properties = { ...mark(envelope, envelopeNotes), data: markData(type, data ?? {}) }
      return [name, { ...schema, properties, examples: [eventExamples[type]] }]
    }),
  )
}

/** A POST to each registered webhook that has subscribed to the type (R78). */
export function webhooks(): JsonObject {
  return Object.fromEntries(
    eventTypes.map((type) => [
      type,
      {
        post: {
          operationId: `on${toSchemaName(type)}`,
          tags: ['events'],
          summary: type,
          description: `${eventSchemas[type].description} ${deliveryRules}`,
          security: [],
          parameters: [{ $ref: '#/components/parameters/Signature' }],
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: { $ref: `#/components/schemas/${toSchemaName(type)}` },
                example: eventExamples[type],
              },
            },
          },
          responses: deliveryResponses,
          'x-assumption': [...eventNotes[type].assumptions, 'A43', 'A44', 'A47'],
        },
      },
    ]),
  )
}

const deliveryRules =
  'Answer with any 2xx within 5 seconds. Any other answer, or none, is a failed delivery: it is retried 1 minute, ' +
  '5 minutes, 30 minutes, 2 hours and 8 hours after the failure before. The same event can come more than once, with ' +
  'the same `id`.'

const deliveryResponses: JsonObject = {
  '2XX': { description: 'Acknowledged: there is no retry.' },
  '401': { description: 'The signature does not verify. The delivery has failed and is retried.' },
  default: { description: 'The delivery has failed and is retried.' },
}

function markData(type: EventType, data: JsonObject): JsonObject {
  const properties = data['properties'] as Record<string, JsonObject>
  return { ...data, properties: mark(properties, eventNotes[type].fields ?? {}) }
}

function mark(
  properties: Readonly<Record<string, JsonObject>>,
  notes: Readonly<Record<string, readonly string[]>>,
): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const assumption = notes[name]
      return [name, assumption === undefined ? schema : { ...schema, 'x-assumption': assumption }]
    }),
  )
}
