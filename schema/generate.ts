// Writes schema/openapi.json and schema/asyncapi.json from the zod sources; with --check it only reports stale files.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { toAsyncApi } from './asyncapi.ts'
import { envelopeSchema, eventSchemas, eventTypes } from './index.ts'
import { toJsonSchema, type JsonObject } from './json-schema.ts'
import { toOpenApi } from './openapi.ts'

const dialect = 'https://json-schema.org/draft/2020-12/schema'

/** A JSON Schema (2020-12) of each event type by its name, and `event` for all types. */
export function eventJsonSchemas(): Readonly<Record<string, JsonObject>> {
  const ofType = (type: (typeof eventTypes)[number]) => {
    return [type, { $schema: dialect, $id: `${type}.json`, ...withoutAssumptions(eventSchemas[type]) }] as const
  }
  return { ...Object.fromEntries(eventTypes.map(ofType)), event: unionSchema() }
}

/** Strict validators reject unknown keywords. */
function withoutAssumptions(schema: z.ZodType): JsonObject {
  return toJsonSchema(schema, ({ jsonSchema }) => delete jsonSchema['x-assumption'])
}

/** Documented types must match their own schema; all other types need a valid envelope only (R127). */
function unionSchema(): JsonObject {
  const byType = eventTypes.map((type) => ({
    if: { properties: { type: { const: type } }, required: ['type'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { $ref: `${type}.json` },
  }))
  return {
    $schema: dialect,
    $id: 'event.json',
    ...withoutAssumptions(envelopeSchema),
    title: 'event',
    description: 'Any event. Documented types match the schema of their type; other types need a valid envelope only.',
    allOf: byType,
  }
}

if (import.meta.main) {
  const toText = (document: JsonObject) => `${JSON.stringify(document, null, 2)}\n`
  const files = {
    'openapi.json': toText(toOpenApi()),
    'asyncapi.json': toText(toAsyncApi()),
  }
  for (const [name, text] of Object.entries(files)) {
    const file = fileURLToPath(new URL(name, import.meta.url))
    if (!process.argv.includes('--check')) writeFileSync(file, text)
    else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
      console.error(`schema: ${name} does not match its source: run \`npm run generate\``)
      process.exitCode = 1
    }
  }
}
