// Writes schema/json/, schema/openapi.json and schema/asyncapi.json from the zod sources, and src/client/generated.ts from
// openapi.json; with --check it only reports what is not as it would write it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toAsyncApi } from './asyncapi.ts'
import { envelopeSchema, eventSchemas, eventTypes } from './index.ts'
import { toJsonSchema, type JsonObject } from './json-schema.ts'
import { toOpenApi } from './openapi.ts'

const dialect = 'https://json-schema.org/draft/2020-12/schema'

/** The generated files by name: both documents, and in `json` a JSON Schema (2020-12) of each event type and of all. */
function generateFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const type of eventTypes) {
    const schema = { $schema: dialect, $id: `${type}.json`, ...toJsonSchema(eventSchemas[type]) }
    files.set(`json/${type}.json`, toText(schema))
  }
  files.set('json/event.json', toText(unionSchema()))
  files.set('openapi.json', toText(toOpenApi()))
  files.set('asyncapi.json', toText(toAsyncApi()))
  return files
}

/** What is wrong in `folder` and its `json`, a line per file: stale, missing or superfluous. */
export function checkFiles(folder: string): readonly string[] {
  const problems = [...generateFiles()].flatMap(([name, text]) => {
    const present = read(join(folder, name))
    if (present === null) return [`missing: ${name}`]
    return present === text ? [] : [`stale: ${name}`]
  })
  return [...problems, ...superfluous(folder).map((name) => `superfluous: ${name}`)]
}

/** Writes all files into `folder` and its `json`, and removes from `json` what does not belong there. */
export function writeFiles(folder: string): void {
  for (const name of superfluous(folder)) rmSync(join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'json'), { recursive: true })
  for (const [name, text] of generateFiles()) writeFileSync(join(folder, name), text)
}

function superfluous(folder: string): readonly string[] {
  const wanted = generateFiles()
  const present = orNull(() => readdirSync(join(folder, 'json'))) ?? []
  return present
    .map((name) => `json/${name}`)
    .filter((name) => !wanted.has(name))
    .toSorted()
}

/** A documented type must fit its own schema; every other type passes with the envelope alone (R127). */
function unionSchema(): JsonObject {
  const byType = eventTypes.map((type) => ({
    if: { properties: { type: { const: type } }, required: ['type'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { $ref: `${type}.json` },
  }))
  return {
    $schema: dialect,
    $id: 'event.json',
    ...toJsonSchema(envelopeSchema),
    title: 'event',
    description: 'Any event. A documented type fits the schema of that type; a type that is not documented yet passes.',
    allOf: byType,
  }
}

function toText(schema: JsonObject): string {
  return `${JSON.stringify(schema, null, 2)}\n`
}

function read(file: string): string | null {
  return orNull(() => readFileSync(file, 'utf8'))
}

/** Null where there is no such file or folder. */
function orNull<T>(fn: () => T): T | null {
  try {
    return fn()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

if (import.meta.main) {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  // Loaded here only: it brings a compiler with it.
  const { clientTypesFile, generateClientTypes } = await import('./generate-client.ts')
  const clientTypes = await generateClientTypes()
  if (process.argv.includes('--check')) {
    const isFresh = read(join(folder, clientTypesFile)) === clientTypes
    const problems = [...checkFiles(folder), ...(isFresh ? [] : [`stale: ${clientTypesFile}`])]
    for (const problem of problems) console.error(`schema: ${problem}`)
    if (problems.length > 0) {
      console.error('The generated files do not match their sources in schema/: run `npm run generate`.')
      process.exitCode = 1
    }
  } else {
    writeFiles(folder)
    writeFileSync(join(folder, clientTypesFile), clientTypes)
  }
}
