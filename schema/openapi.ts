import { toComponents, type JsonObject } from './json-schema.ts'
import { failures, headers } from './openapi/responses.ts'
import { paths } from './openapi/paths.ts'
import { eventComponents, exampleSignature, signature, webhooks } from './openapi/webhooks.ts'
import { components } from './rest/components.ts'
import { scopes } from './rest/routes.ts'

/** The service as an OpenAPI 3.1 document. `x-assumption` marks choices of the emulator where the service documents none. */
export function toOpenApi(): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Blockchain Analytics REST Service',
      version: '1.0.0',
      summary: 'On-chain analytics on seven networks, with signed webhooks.',
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      {
        url: '{base_url}',
        description: 'The service, or its emulator.',
        variables: {
          base_url: {
            default: 'https://127.0.0.1:8090/v1',
            description: 'HTTPS address of the service, with the prefix of the version.',
          },
        },
      },
    ],
    tags: [
      ...Object.entries(groupMeanings).map(([name, description]) => ({ name, description })),
      { name: 'events', description: 'Events sent to registered webhooks.' },
    ],
    paths: paths(),
    webhooks: webhooks(),
    components: {
      securitySchemes: { apiKey: securityScheme() },
      headers,
      parameters: { Signature: signatureParameter() },
      responses: failures(),
      schemas: { ...toComponents(components), ...eventComponents() },
    },
  }
}

const about = `A JSON-over-HTTPS interface to on-chain analytics: wallets, tokens, alerts, networks and webhooks.

Every response is an envelope: \`success\`, then \`data\` or \`error\`, and \`meta\`. Readers ignore unknown members.
Unknown parameters and members of bodies are ignored; a repeated parameter is rejected.

\`x-assumption\` marks choices of the emulator where the service documents none; docs/assumptions.md explains the
numbers. \`x-requirement\` names the requirements that an operation meets. \`x-extensible-enum\` lists the values of an open
set known today. \`x-other-methods\` is the response to all other methods of a path.

Rate limits are per key: 10, 60, 300 or 1,000 requests per minute for the plans Free, Standard, Pro and Elite.`

const groupMeanings = {
  wallets: 'Overview, portfolio, profit and loss, and trades of wallets. Read-only.',
  tokens: 'Tokens by address, and search.',
  alerts: 'Alerts on tokens and wallets.',
  networks: 'The supported networks.',
  webhooks: 'Registered endpoints for events.',
  contracts: 'AI contract audits. Not documented.',
  liquidity: 'Liquidity routing. Not documented.',
  trending: 'The trending feed. Not documented.',
}

function securityScheme(): JsonObject {
  const list = Object.entries(scopes).map(([name, meaning]) => `- \`${name}\`: ${meaning}`)
  return {
    type: 'http',
    scheme: 'bearer',
    description: `An API key, made in the dashboard under Settings, API Keys. Its scopes:\n\n${list.join('\n')}`,
    'x-assumption': ['A28', 'A29'],
  }
}

function signatureParameter(): JsonObject {
  const { description, 'x-assumption': assumption, ...schema } = signature
  return {
    name: 'X-Service-Signature',
    in: 'header',
    required: true,
    description,
    schema,
    example: exampleSignature,
    'x-assumption': assumption,
  }
}
