import type { JsonObject } from '../../schema/json-schema.ts'
import { version } from '../version.ts'
import { toPaths, toResponses } from './openapi/paths.ts'
import { componentSchemas } from './openapi/schemas.ts'
import { groups, type Group, type RouteText } from './routes/route.ts'

/** The admin API as an OpenAPI 3.1 document. Pure. */
export function toAdminOpenApi(routes: readonly RouteText[]): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Admin API of onchain-inbox',
      version,
      summary: 'What came in, what was done with it, what failed, and what to do about it.',
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      {
        url: '{admin_url}/api/v1',
        description: 'The admin side of a sidecar.',
        variables: { admin_url: { default: 'http://127.0.0.1:8081', description: 'Where the admin side listens.' } },
      },
    ],
    tags: groups.map((name) => ({ name, description: groupMeanings[name] })),
    paths: toPaths(routes),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: "The operator's token, or that of viewers." },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'inbox_session_8081',
          description: 'A session of the console; the name ends in the port of the admin side.',
        },
      },
      responses: toResponses(routes),
      schemas: componentSchemas(),
    },
  }
}

const about = `The admin side of a sidecar, for its console, its commands, and programs of an operator's own.

Lists are \`{"data", "next_cursor"}\`: \`next_cursor\` goes into \`cursor\` of the next request, and is null on the last page. Errors are
\`{"error": {"code", "message"}}\`; codes are stable. \`x-role\` says who may call an operation: a viewer's token may get, an operator's may do
everything. Acts are noted in the audit with who did them; asked again, they find nothing left to do. With \`dryRun\` they only count.
Parameters and members of bodies that are not described here are refused. Answers may get more members.`

const groupMeanings: Readonly<Record<Group, string>> = {
  session: 'Signing in to the console.',
  overview: 'How it goes at a glance.',
  events: 'Stored events, and what became of them.',
  replays: 'Events that are handled again.',
  'dead-letters': 'Runs that will not be tried again unless somebody says so.',
  quarantine: 'Authentic bodies that are no usable event.',
  rejects: 'Requests that were refused for good, kept in memory.',
  conflicts: 'Other bodies under an id that was known.',
  handlers: 'Handlers and sinks.',
  health: 'How it is, what is set, and what was done.',
  reconcile: 'Comparing what is stored with what the service knows.',
  subscription: 'The registration with the service.',
  upkeep: 'Keeping the store in order.',
}
