import { assumptionsOf, eventExamples, eventSchemas } from './events.ts'
import { eventTypes, type EventType } from './names.ts'
import type { JsonObject } from './json-schema.ts'
import { eventComponents, exampleSignature, signature, toSchemaName } from './openapi/webhooks.ts'

/** The events as an AsyncAPI 3.0 document, from the point of view of the service, which sends them. */
export function toAsyncApi(): JsonObject {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Blockchain Analytics Events',
      version: '1.0.0',
      description: about,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      tags: [{ name: 'events', description: 'On-chain events, sent as signed HTTP POST.' }],
    },
    defaultContentType: 'application/json',
    servers: { webhook: server },
    channels: {
      webhook: {
        address: '{path}',
        title: 'A registered webhook',
        description: 'The `url` of a webhook. It gets the types it subscribes to.',
        servers: [{ $ref: '#/servers/webhook' }],
        parameters: { path: { description: 'Path of the registered `url`.', examples: ['/webhooks'] } },
        messages: Object.fromEntries(eventTypes.map((type) => [type, { $ref: `#/components/messages/${type}` }])),
      },
    },
    operations: {
      sendEvent: {
        action: 'send',
        title: 'An event fires',
        summary: 'A signed POST to each webhook subscribed to the type.',
        description: deliveryRules,
        channel: { $ref: '#/channels/webhook' },
        messages: eventTypes.map((type) => ({ $ref: `#/channels/webhook/messages/${type}` })),
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
        'x-assumption': ['A43', 'A44', 'A47'],
      },
    },
    components: {
      messages: Object.fromEntries(eventTypes.map((type) => [type, toMessage(type)])),
      schemas: { ...eventComponents(), DeliveryHeaders: deliveryHeaders },
    },
  }
}

const about = `Events sent to registered webhooks. New types may come at any time; a webhook with the wildcard \`*\` gets
them too.

\`x-assumption\` marks choices of the emulator where the service documents none; docs/assumptions.md explains the
numbers.`

const deliveryRules = `The receiver answers with any 2xx within 5 seconds. Otherwise the delivery has failed. It is retried
five times: 1 minute, 5 minutes, 30 minutes, 2 hours and 8 hours after the previous failure. The same event can be
delivered more than once, with the same \`id\`.`

const server: JsonObject = {
  host: '{host}',
  protocol: 'https',
  description: 'Host of the registered `url`: https, or http to this machine.',
  variables: {
    host: { default: 'hooks.example.com', description: 'Host of the receiver, with its port, if any.' },
  },
  'x-assumption': ['A25'],
}

const deliveryHeaders: JsonObject = {
  type: 'object',
  description: 'Headers of every delivery.',
  properties: {
    'Content-Type': { type: 'string', const: 'application/json', description: 'Media type of the body.' },
    'X-Service-Signature': signature,
  },
  required: ['Content-Type', 'X-Service-Signature'],
}

function toMessage(type: EventType): JsonObject {
  const assumptions = assumptionsOf(type)
  return {
    name: type,
    title: type,
    summary: eventSchemas[type].description,
    contentType: 'application/json',
    headers: { $ref: '#/components/schemas/DeliveryHeaders' },
    payload: { $ref: `#/components/schemas/${toSchemaName(type)}` },
    examples: [
      {
        name: 'delivery',
        summary: 'One delivery of the event.',
        headers: { 'Content-Type': 'application/json', 'X-Service-Signature': exampleSignature },
        payload: eventExamples[type],
      },
    ],
    ...(assumptions.length > 0 && { 'x-assumption': assumptions }),
  }
}
